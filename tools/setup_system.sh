#!/usr/bin/env bash
# What pip cannot bring: Java for Spark, PostgreSQL and MariaDB for lakes whose catalog is on a server.
#
#     tools/setup_system.sh [--dry-run] [--only PACKAGE]
#
# Installs what is missing from Debian's own packages when run as root; otherwise says in one line what to
# install and exits with 3. Silent when nothing is missing.
set -euo pipefail

dry_run=no
only=
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) dry_run=yes ;;
        --only) only=${2:?--only needs the name of a package}; shift ;;
        *) echo "usage: $0 [--dry-run] [--only PACKAGE]" >&2; exit 2 ;;
    esac
    shift
done

has_java() {
    local java=java version
    if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; fi
    version=$("$java" -version 2>&1 | sed -nE 's/.* version "([0-9]+).*/\1/p' | head -n 1) || return 1
    [ "${version:-0}" -ge 17 ]
}

# Debian puts PostgreSQL's own programs outside PATH.
has_postgres() {
    command -v initdb >/dev/null || compgen -G "${POSTGRES_HOME:-/usr/lib/postgresql}/*/bin/initdb" >/dev/null
}

has_mariadb() { command -v mariadbd >/dev/null || command -v mysqld >/dev/null || [ -x "${MARIADB_HOME:-/usr/sbin}/mariadbd" ]; }

missing=()
if [ -n "$only" ]; then
    missing=("$only")
else
    has_java || missing+=(openjdk-17-jre-headless)
    has_postgres || missing+=(postgresql)
    has_mariadb || missing+=(mariadb-server)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$dry_run" = yes ]; then
    echo "would install: ${missing[*]}"
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    until_then=" Until then what needs them is skipped."
    if [ -n "$only" ]; then until_then=; fi
    echo "Missing: ${missing[*]}. On Debian: sudo apt-get install ${missing[*]}.$until_then" >&2
    exit 3
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Slim images leave out the folder of the manual pages, and Java's installation stops without it.
mkdir -p /usr/share/man/man1
apt-get update -qq
apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
