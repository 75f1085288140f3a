#!/usr/bin/env bash
# faults.sh [FILTER]: runs the end-to-end tests in their long form, with the release program; without a filter, then the
# other tests that have a long form, such as random ones with many seeds, and ten minutes of kills among all clients.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh faults
ERRAND_TEST_PROGRAM=$(scripts/release.sh)/errand
export ERRAND_TEST_PROGRAM ERRAND_FAULTS=full
code=0
scripts/test.sh --filter "EndToEndTests.*${1:-}" || code=$?
if [ -z "${1:-}" ]; then
    scripts/test-clients.sh chaos 600 || code=$?
    # A suite is named like its file.
    suites=$(grep -rl --include='*Tests.swift' 'Hardness\.isFull' Tests | grep -v '/EndToEndTests/' | sed 's|.*/||; s|\.swift$||' | paste -sd '|')
    scripts/test.sh --filter "\.($suites)/" || code=$?
fi
exit "$code"
