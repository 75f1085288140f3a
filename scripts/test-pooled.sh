#!/usr/bin/env bash
# test-pooled.sh [ARGUMENT...]: runs the tests of engine and program behind PgBouncer in transaction mode, and of the jobs
# those that write most: photos, moments, notifications and purges.
#
# The arguments are those of `swift test`. No test is skipped. A test that depends on settings of a session connects
# without the pooler, and its comment says why.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test
tests='^(ErrandTests|ErrandTestKitTests|CommandTests|EndToEndTests)\.|^JobsTests\.(Upload|Moment|Notification|EventPurge)'
[ $# -gt 0 ] || set -- --filter "$tests"
if [ -n "${ERRAND_TEST_DATABASE_URL:-}" ]; then
    exec scripts/pooler.sh scripts/test.sh "$@"
fi
exec scripts/cluster.sh with .errand/test scripts/pooler.sh scripts/test.sh "$@"
