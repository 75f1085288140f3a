#!/usr/bin/env bash
# test.sh [ARGUMENT...]: all tests against a private PostgreSQL and private S3 servers; the arguments go to `swift test`,
# such as --filter Claim.
#
# The tests find them in ERRAND_TEST_DATABASE_URL and ERRAND_TEST_S3_RCLONE, _MOTO and _TLS. What is set already is used and
# left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test s3
if [ -z "${ERRAND_TEST_DATABASE_URL:-}" ]; then
    exec scripts/cluster.sh with .errand/test bash -c \
        'ERRAND_TEST_DATABASE_URL=$ERRAND_CLUSTER_URL exec scripts/test.sh "$@"' test.sh "$@"
fi
if [ -z "${ERRAND_TEST_S3_MOTO:-}" ]; then
    exec scripts/s3.sh with .errand/s3 scripts/test.sh "$@"
fi
swift build --build-tests
# A few at a time: with all at once two cores are so busy that promises of time could not be told from a slow machine. Of
# faults, which load the machine by themselves, one at a time.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$([ -n "${ERRAND_FAULTS:-}" ] && echo 1 || echo 4)
log=.errand/test.log
mkdir -p .errand
swift test --skip-build "$@" 2>&1 | tee "$log" && exit

# What failed stands somewhere among hundreds of tests that ran beside it: once more, then the runner's own closing line.
echo "What failed:"
grep -A 3 -e 'recorded an issue' -e 'error:' -e 'Fatal error' "$log" || echo "no test said why; all that was printed is in $log"
grep '^. Test run with' "$log" || echo "the run did not end"
exit 1
