#!/usr/bin/env bash
# test-pooled.sh [ARGUMENT...]: the tests of engine, jobs and program once more, behind PgBouncer in transaction mode.
#
# The arguments go to `swift test`. None is left out; what rests on a session's own settings goes past the pooler, and says why.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database test
[ $# -gt 0 ] || set -- --filter '^(ErrandTests|ErrandTestKitTests|JobsTests|CommandTests|EndToEndTests)\.'
if [ -n "${ERRAND_TEST_DATABASE_URL:-}" ]; then
    exec scripts/pooler.sh scripts/test.sh "$@"
fi
exec scripts/cluster.sh with .errand/test scripts/pooler.sh scripts/test.sh "$@"
