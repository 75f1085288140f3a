#!/usr/bin/env bash
# benchmarks.sh: the benchmarks build as a package of their own, their tests pass, and the bench lists its scenarios.
#
# They are built in .build-benchmarks, which keeps what is built of Errand and its packages: only the first time takes long.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

build=(--package-path Benchmarks --scratch-path .build-benchmarks)
swift build "${build[@]}" --build-tests --quiet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
swift test "${build[@]}" --skip-build --quiet > "$work/tests" 2>&1 || { cat "$work/tests"; exit 1; }
"$(swift build "${build[@]}" --show-bin-path)/bench" --list > "$work/scenarios"
grep -q '^drain-1: ' "$work/scenarios" || { echo "bench --list names no drain-1"; cat "$work/scenarios"; exit 1; }
