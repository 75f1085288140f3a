#!/usr/bin/env bash
# test-pooled.sh [ARGUMENT...]: runs tests behind PgBouncer in transaction mode, by default those of Tests/pooled.txt.
#
# The arguments are those of `swift test`. No test is skipped. A test that depends on settings of a session connects
# without the pooler, and its comment says why.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

[ $# -gt 0 ] || set -- --filter "\.($(sed -n 's/ .*//p' Tests/pooled.txt | paste -sd '|'))/"
scripts/need.sh database test
[ -z "${ERRAND_TEST_DATABASE_URL:-}" ] || exec scripts/pooler.sh scripts/test.sh "$@"
exec scripts/cluster.sh with --no-sync .errand/test scripts/pooler.sh scripts/test.sh "$@"
