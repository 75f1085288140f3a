#!/usr/bin/env bash
# test.sh [ARGUMENT...]: runs the tests against a private PostgreSQL and private S3 servers, and prints the slowest.
#
# The arguments are those of `swift test`, such as --filter Claim; --filter E4 runs the tests called "E4: …".
# ERRAND_TEST_DATABASE_URL and ERRAND_TEST_S3_RCLONE, _MOTO and _TLS name the servers. A server that is set already is
# used, and not stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test s3
if [ -z "${ERRAND_TEST_DATABASE_URL:-}" ]; then
    # Tests of durability start servers of their own, which sync. The promised numbers hold on a server that syncs.
    sync=(--no-sync)
    [ -z "${ERRAND_FAULTS:-}" ] || sync=()
    exec scripts/cluster.sh with "${sync[@]}" .errand/test bash -c \
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
scripts/build.sh debug --build-tests > /dev/null
# Four tests keep two cores busy; more only make each of them wait. Tests of faults load the machine by themselves and run one at a time.
width=${ERRAND_TEST_WIDTH:-$([ -n "${ERRAND_FAULTS:-}" ] && echo 1 || echo 4)}
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$width
log=.errand/test.log events=.errand/test-events.jsonl
mkdir -p .errand
python3 scripts/slowest.py "$width" "$events" \
    swift test --skip-build --manifest-cache none --disable-xctest --event-stream-output-path "$events" --event-stream-version 0 "${arguments[@]}" \
    2>&1 | tee "$log" && exit

# The failures are spread over the output of hundreds of tests: repeat them, then the runner's last line.
echo "What failed:"
grep -A 3 -e 'recorded an issue' -e 'error:' -e 'Fatal error' "$log" || echo "no test printed a reason; the whole output is in $log"
grep '^[^ ]* Test run with' "$log" || echo "the run did not finish"
exit 1
