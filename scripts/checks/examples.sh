#!/usr/bin/env bash
# examples.sh: starts and stops the programs of the examples, on the program's schema. `make test` runs their tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

[ -n "${ERRAND_CLUSTER_URL:-}" ] || exec scripts/cluster.sh with --no-sync .errand/test scripts/checks/examples.sh

admin=$(scripts/cluster.sh url .errand/test postgres)
DATABASE_URL=$(scripts/cluster.sh url .errand/test check_examples)
export DATABASE_URL
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

work=$(mktemp -d)
program=
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2> /dev/null || true
    rm -rf "$work"
    psql "$admin" -c "drop database if exists check_examples with (force)" 2> /dev/null
}
psql "$admin" -c "drop database if exists check_examples" -c "create database check_examples" 2> /dev/null
trap finish EXIT
"$ERRAND_BIN/errand" migrate > /dev/null

# runs NAME QUERY: starts the program, waits until the query returns t, and stops it; it must exit within 5 s.
runs() {
    "$ERRAND_BIN/$1" > "$work/$1" 2>&1 &
    program=$!
    for _ in $(seq 100); do
        [ "$(psql "$DATABASE_URL" -c "$2" 2> /dev/null || true)" != t ] || break
        sleep 0.1
    done
    if [ "$(psql "$DATABASE_URL" -c "$2")" != t ]; then
        echo "$1 has not done its work within 10 s: $2"
        tail -n 20 "$work/$1"
        exit 1
    fi
    kill -TERM "$program"
    timeout 5 tail --pid="$program" -f /dev/null || { echo "$1 did not stop within 5 s"; exit 1; }
    code=0
    wait "$program" || code=$?
    program=
    [ "$code" -eq 0 ] || { echo "$1 ended with $code"; tail -n 20 "$work/$1"; exit 1; }
}
runs Greeter "select exists (select from errand.jobs where kind = 'greet' and state = 'succeeded')"
grep -q 'Hello, world!' "$work/Greeter"
runs ShopServer "select count(*) >= 2 from public.orders where paid_at is not null"
