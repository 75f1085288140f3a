#!/usr/bin/env bash
# benchmarks.sh: the benchmark lists its scenarios. `make test` runs its tests.
set -euo pipefail
cd "$(dirname "$0")/../.."

"$ERRAND_BIN/Harness" --list | grep -q '^drain-1: ' || { echo "Harness --list names no drain-1"; exit 1; }
