#!/usr/bin/env bash
# test-traces.sh: has a real worker send its spans to a receiver that decodes them by OpenTelemetry's own definitions of
# OTLP, and looks at what arrived.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database s3
folder=.errand/traces
mkdir -p "$folder"
if [ ! -x "$folder/venv/bin/python" ]; then python3 -m venv "$folder/venv"; fi
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-proto==1.45.2
program=${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}
export PYTHONDONTWRITEBYTECODE=1
scripts/cluster.sh with "$folder/cluster" "$folder/venv/bin/python" Tests/Traces/main.py "$program/errand" "$folder"
