#!/usr/bin/env bash
# test.sh [ARGUMENT...]: all tests against a private PostgreSQL; the arguments go to `swift test`, such as --filter Claim.
#
# The tests find the server in ERRAND_TEST_DATABASE_URL. Where it is set already, that server is used and left alone.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/need.sh build database test
if [ -z "${ERRAND_TEST_DATABASE_URL:-}" ]; then
    exec scripts/cluster.sh with .errand/test bash -c \
        'ERRAND_TEST_DATABASE_URL=$ERRAND_CLUSTER_URL exec scripts/test.sh "$@"' test.sh "$@"
fi
swift build --build-tests
# A few at a time: with all at once two cores are so busy that promises of time could not be told from a slow machine.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
exec swift test --skip-build "$@"
