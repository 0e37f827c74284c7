#!/usr/bin/env bash
# Fetch the jars that let Spark at object stores, so that tests start without asking anybody for them.
#
#     tools/setup_jars.sh VENV
#
# They go into Ivy's cache, where Spark looks first, and into VENV/jars. Exits with 3 when they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}

echo "Fetching Hadoop's connector for S3 into $venv/jars"
if ! "$venv/bin/python" - "$venv/jars" 2>"$venv/jars.log" <<'PYTHON'
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from quacklake.engine.spark.connectors import packages

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for key, value in packages(["s3"]).items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
jars = [Path(jar.removeprefix("file:").replace("///", "/")) for jar in spark.conf.get("spark.jars").split(",")]
spark.stop()
folder = Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
for jar in jars:
    shutil.copy(jar, folder)
PYTHON
then
    echo "Spark's jars for S3 cannot be had ($venv/jars.log says why). Until then what needs them is skipped." >&2
    exit 3
fi
rm -f "$venv/jars.log"
