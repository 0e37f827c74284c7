#!/usr/bin/env bash
# Make the virtual environment: pinned packages and the project itself, editable.
#
#     tools/setup_python.sh PYTHON VENV
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
venv=${2:-.venv}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "quacklake needs Python 3.11 or newer, and $python is not. Name another one: make setup PYTHON=python3.12" >&2
    exit 1
fi
if [ ! -x "$venv/bin/python" ]; then
    # Debian keeps what makes environments in a package of its own.
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        tools/setup_system.sh --only "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    fi
    "$python" -m venv "$venv"
fi

echo "Installing pinned packages into $venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install --upgrade --constraint constraints.txt pip
"${pip[@]}" install --constraint constraints.txt --build-constraint constraints.txt --editable '.[dev]'
