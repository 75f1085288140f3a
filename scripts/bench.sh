#!/usr/bin/env bash
# bench.sh [SCENARIO...] [OPTION...]: measures Errand beside its baselines and other queues.
#
# The arguments are those of `bench`.
#
# Builds both programs in release mode, installs the other queues into a Python environment below .build-benchmarks, and
# runs the benchmark on a private PostgreSQL in .errand/bench. Results are in .errand/bench-results. With BEFORE=COMMIT,
# Errand of that commit takes part as errand-before.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

build=(--package-path Benchmarks --scratch-path .build-benchmarks --configuration release --static-swift-stdlib --quiet)

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    scripts/need.sh build database bench
    echo "Building in release mode; the first time takes some minutes." >&2
    ERRAND_BIN=$(scripts/release.sh --quiet)
    export ERRAND_BIN
    swift build "${build[@]}" >&2
    Benchmarks/Peers/venv.sh .build-benchmarks/venv > /dev/null
    if [ -n "${BEFORE:-}" ]; then
        BENCH_BEFORE=$(scripts/bench-before.sh "$BEFORE")
        export BENCH_BEFORE
    fi
    exec scripts/cluster.sh with .errand/bench scripts/bench.sh "$@"
fi
exec "$(swift build "${build[@]}" --show-bin-path)/bench" "$@"
