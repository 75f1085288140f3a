#!/usr/bin/env bash
# test.sh [ARGUMENT...]: runs the tests against a private PostgreSQL and private S3 servers.
#
# The arguments are those of `swift test`, such as --filter Claim; --filter E4 runs the tests called "E4: …".
# ERRAND_TEST_DATABASE_URL and ERRAND_TEST_S3_RCLONE, _MOTO and _TLS name the servers. A server that is set already is
# used, and not stopped.
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
arguments=() previous=
for argument in "$@"; do
    if [ "$previous" = --filter ]; then argument=$(python3 scripts/promised.py "$argument"); fi
    arguments+=("$argument") previous=$argument
done
swift build --build-tests
# Four tests run at a time: with more, two cores are so busy that tests of timing fail on a correct program. Tests of
# faults load the machine by themselves and run one at a time.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$([ -n "${ERRAND_FAULTS:-}" ] && echo 1 || echo 4)
log=.errand/test.log
mkdir -p .errand
swift test --skip-build "${arguments[@]}" 2>&1 | tee "$log" && exit

# The failures are spread over the output of hundreds of tests: repeat them, then the runner's last line.
echo "What failed:"
grep -A 3 -e 'recorded an issue' -e 'error:' -e 'Fatal error' "$log" || echo "no test printed a reason; the whole output is in $log"
if ! grep '^[^ ]* Test run with' "$log"; then
    echo "the run did not finish"
    exit 1
fi
[ -z "${ERRAND_FAULTS:-}" ] || exit 1

# Up to three failed suites run again alone. A suite that passes then failed because the machine was busy: it is
# reported and fails nothing. A suite is named like its file; an issue that was recorded in another file names no suite.
mapfile -t files < <(grep -oP 'recorded an issue .*?\bat \K[^: ]+(?=:\d+:\d+: )' "$log" | sort -u)
[ ${#files[@]} -ge 1 ] && [ ${#files[@]} -le 3 ] || exit 1
for file in "${files[@]}"; do [[ $file == *Tests.swift ]] || exit 1; done
suites=$(IFS='|' && echo "${files[*]%.swift}")
echo "Again, alone: $suites"
swift test --skip-build --filter "\.($suites)/" 2>&1 | tee "$log.alone" || exit 1
# No test runs if no suite has that name.
grep -q '^[^ ]* Test run with [1-9].* passed' "$log.alone"
echo "failed beside the others and passed alone: $suites"
