#!/usr/bin/env bash
# examples.sh: builds the package of the examples, runs its tests, and starts and stops its programs.
#
# Retry creates its schema in an empty database. The other examples use the program's schema.
#
# The build folder .build-examples stays, so only the first build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    swift build --product errand --quiet
    swift build --package-path Examples --scratch-path .build-examples --build-tests --quiet
    exec scripts/cluster.sh with .errand/test scripts/checks/examples.sh
fi

admin=$(scripts/cluster.sh url .errand/test postgres)
DATABASE_URL=$(scripts/cluster.sh url .errand/test check_examples)
export DATABASE_URL
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

work=$(mktemp -d)
program=
finish() {
    [ -z "$program" ] || kill -KILL "$program" 2> /dev/null || true
    rm -rf "$work"
    for database in check_examples check_retry; do
        psql "$admin" -c "drop database if exists $database with (force)" 2> /dev/null
    done
}
for database in check_examples check_retry; do
    psql "$admin" -c "drop database if exists $database" -c "create database $database" 2> /dev/null
done
trap finish EXIT
"$(swift build --show-bin-path)/errand" migrate > /dev/null

ERRAND_TEST_DATABASE_URL=$ERRAND_CLUSTER_URL \
    swift test --package-path Examples --scratch-path .build-examples --skip-build --quiet > "$work/tests" 2>&1 \
    || { cat "$work/tests"; exit 1; }

programs=$(swift build --package-path Examples --scratch-path .build-examples --show-bin-path)

# begins NAME QUERY [ARGUMENT...]: starts the program, and waits until the query returns t.
begins() {
    "$programs/$1" "${@:3}" > "$work/$1" 2>&1 &
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
}

# runs NAME QUERY: the same, and stops the program, which must exit within 5 s.
runs() {
    begins "$@"
    kill -TERM "$program"
    timeout 5 tail --pid="$program" -f /dev/null || { echo "$1 did not stop within 5 s"; exit 1; }
    code=0
    wait "$program" || code=$?
    program=
    [ "$code" -eq 0 ] || { echo "$1 ended with $code"; tail -n 20 "$work/$1"; exit 1; }
}
runs Greeter "select exists (select from errand.job_status where kind = 'greet' and state = 'succeeded')"
grep -q 'Hello, world!' "$work/Greeter"
runs ShopServer "select count(*) >= 2 from public.orders where paid_at is not null"

DATABASE_URL=$(scripts/cluster.sh url .errand/test check_retry)
begins Retry "select exists (select from errand.job_status where kind = 'greet' and state = 'succeeded' and attempt = 2)" \
    "$DATABASE_URL"
# This program handles no signal.
kill -KILL "$program"
wait "$program" 2> /dev/null || true
program=
schemas=$(psql "$DATABASE_URL" -c "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema|public)'")
[ "$schemas" = errand ] || { echo "Retry has made other schemas than errand: $schemas"; exit 1; }
[ -x "$programs/errand-image" ] || { echo "errand-image does not lie beside Shrink"; exit 1; }
