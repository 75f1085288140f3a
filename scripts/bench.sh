#!/usr/bin/env bash
# bench.sh [SCENARIO...] [OPTION...]: measures Errand beside its baselines and other queues.
#
# The arguments are those of the program Harness.
#
# Builds the programs in release mode, installs the other queues into a Python environment below .errand/bench-tools, and
# runs the benchmark on a private PostgreSQL in .errand/bench. Results are in .errand/bench-results. With BEFORE=COMMIT,
# Errand of that commit takes part as errand-before.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    scripts/need.sh build database bench
    ERRAND_BIN=$(scripts/release.sh)
    export ERRAND_BIN
    for product in ErrandContender Harness; do scripts/build.sh release --product "$product" > /dev/null; done
    Benchmarks/Peers/venv.sh .errand/bench-tools/venv > /dev/null
    if [ -n "${BEFORE:-}" ]; then
        BENCH_BEFORE=$(scripts/commit.sh release "$BEFORE" Benchmarks)
        export BENCH_BEFORE
    fi
    exec scripts/cluster.sh with .errand/bench scripts/bench.sh "$@"
fi
exec "$ERRAND_BIN/Harness" "$@"
