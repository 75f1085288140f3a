#!/usr/bin/env bash
# alerts.sh [ALERT...]: causes the fault of each alert, and waits until a real Prometheus fires and clears it.
#
# Starts a private PostgreSQL, the processes of Errand and Prometheus, all on this host, and prints a table with the
# seconds. ERRAND_BIN names the folder of the programs; they are built if it is unset.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database checks
if [ -z "${ERRAND_BIN:-}" ]; then ERRAND_BIN=$(scripts/release.sh); fi
# Unpacks Prometheus with promtool.
scripts/promtool.sh --version > /dev/null
export ERRAND_BIN
code=0
scripts/cluster.sh with .errand/alerts python3 scripts/alerts/run.py "$@" || code=$?
scripts/cluster.sh drop .errand/alerts > /dev/null
exit "$code"
