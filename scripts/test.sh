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
if ! grep '^[^ ]* Test run with' "$log"; then
    echo "the run did not end"
    exit 1
fi
[ -z "${ERRAND_FAULTS:-}" ] || exit 1

# Up to three suites that failed beside others run once more alone. What passes then rests on how busy the machine was: it is
# said, and fails nothing. A suite is named like its file; an issue that was recorded elsewhere names none.
mapfile -t places < <(sed -n 's/.* recorded an issue at \([^:]*\):.*/\1/p' "$log" | sort -u)
[ ${#places[@]} -ge 1 ] && [ ${#places[@]} -le 3 ] || exit 1
for place in "${places[@]}"; do [[ $place == *Tests.swift ]] || exit 1; done
suites=$(IFS='|' && echo "${places[*]%.swift}")
echo "Once more alone: $suites"
swift test --skip-build --filter "\.($suites)/" 2>&1 | tee "$log.alone" || exit 1
# None is run where no suite has that name.
grep -q '^[^ ]* Test run with [1-9].* passed' "$log.alone"
echo "failed beside the others and passed alone: $suites"
