#!/usr/bin/env bash
# benchmarks.sh: builds the package of the benchmarks, runs its tests, and lists its scenarios.
#
# The build folder .build-benchmarks stays, so only the first build takes minutes.
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
