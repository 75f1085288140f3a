#!/usr/bin/env bash
# ci.sh [--all]: what has to hold before a change lands, cheapest first; a line a stage, with its seconds.
#
# Stops at the first stage that fails, and shows why. With --all it goes on, so that one run shows all that fails. Each
# stage's whole output is in .errand/ci. A stage that hangs is ended after 30 minutes. All stages share one PostgreSQL and
# one set of S3 servers.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

if [ -z "${ERRAND_TEST_S3_MOTO:-}" ]; then
    scripts/need.sh build database demo test s3 checks deploy clients managed || exit
    export ERRAND_TEST_BEGAN=$((EPOCHSECONDS - SECONDS))
    exec scripts/cluster.sh with --no-sync .errand/test scripts/s3.sh with .errand/s3 scripts/ci.sh "$@"
fi
export ERRAND_TEST_DATABASE_URL=$ERRAND_CLUSTER_URL
all=no
[ "${1:-}" != --all ] || all=yes
logs=.errand/ci
mkdir -p "$logs"
rm -f "$logs"/*.log
failed=()

# stage NAME COMMAND...: runs the command, and prints the stage's line and the last line of a test runner.
stage() {
    local name=$1 start=$SECONDS code=0 log=$logs/$1.log runner
    shift
    timeout --kill-after=60 30m "$@" > "$log" 2>&1 < /dev/null || code=$?
    runner=$(grep -h '^[^ ]* Test run with' "$log" | tail -n 1)
    if [ "$code" -eq 0 ]; then
        printf '%-8s %4d s  ok  %s\n' "$name" $((SECONDS - start)) "$runner"
        return
    fi
    printf '%-8s %4d s  FAILED with %d  %s\n' "$name" $((SECONDS - start)) "$code" "$runner"
    failed+=("$name")
    # The repeated failures of the tests, those of the checks, or the end.
    { sed -n '/^What failed:/,$p; /^FAILED/,/^ok /p' "$log" | grep . || tail -n 60 "$log"; } | tail -n 200 | sed 's/^/    /'
    if [ "$all" = no ] || [ "$name" = build ]; then finish; fi
}

finish() {
    if [ ${#failed[@]} -eq 0 ]; then
        echo "all passed in $((EPOCHSECONDS - ERRAND_TEST_BEGAN)) s"
        exit 0
    fi
    echo "failed after $((EPOCHSECONDS - ERRAND_TEST_BEGAN)) s: ${failed[*]}"
    exit 1
}

stage text scripts/checks.sh text
stage build scripts/build.sh debug --build-tests
stage previous scripts/test-previous.sh
stage clients scripts/test-clients.sh
stage managed scripts/test-managed.sh 18
stage pooled scripts/test-pooled.sh
stage checks scripts/checks.sh built
stage test scripts/test.sh
finish
