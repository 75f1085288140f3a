#!/usr/bin/env bash
# schema.sh comments|twice|interface|jobcolumns: checks the database that `errand migrate` creates.
#
#   comments   every schema, table, view, function, sequence and type has a comment, so that \d+ is the manual
#   twice      a second run changes nothing, even when every function, view, role and seed is applied again
#   interface  docs/sql.md and docs/apps/sql.md have each function and view as the schema has it; `interface write`
#              writes them
#   jobcolumns the lists of sql/engine/columns.sql have each column that a job takes along from table to table
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    exec scripts/cluster.sh with --no-sync .errand/test "scripts/checks/schema.sh" "$@"
fi

database=check_$1
admin=$(scripts/cluster.sh url .errand/test postgres)
DATABASE_URL=$(scripts/cluster.sh url .errand/test "$database")
export DATABASE_URL
errand=$ERRAND_BIN/errand
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

work=$(mktemp -d)
PGOPTIONS='-c client_min_messages=warning'
export PGOPTIONS
psql "$admin" -c "drop database if exists $database" -c "create database $database"
trap 'rm -rf "$work"; psql "$admin" -c "drop database if exists $database with (force)"' EXIT
"$errand" migrate --apps all > /dev/null
if [ "$(psql "$DATABASE_URL" -c "select count(*) > 10 from pg_proc where pronamespace = to_regnamespace('errand')")" != t ]
then
    echo "errand migrate made no schema"
    exit 1
fi

comments() {
    psql "$DATABASE_URL" -f scripts/checks/uncommented.sql > "$work/found"
    sed 's/$/ has no comment/' "$work/found"
    [ ! -s "$work/found" ]
}

# Newer versions of pg_dump write a random key into the dump as protection against injected commands. It is removed.
dump() { pg_dump --schema-only "$DATABASE_URL" | grep -v '^\\\(un\)\?restrict ' > "$work/$1.sql"; }

same() {
    diff "$work/first.sql" "$work/$1.sql" > "$work/difference" && return 0
    echo "the schema differs after $2:"
    head -n 40 "$work/difference"
    return 1
}

twice() {
    dump first
    "$errand" migrate > /dev/null
    dump second
    same second "a second errand migrate"
    psql "$DATABASE_URL" -c 'truncate errand.script'
    "$errand" migrate > /dev/null
    dump third
    same third "applying every script again"
}

interface() {
    psql "$DATABASE_URL" -f scripts/checks/interface.sql > "$work/rows"
    python3 scripts/checks/interface.py "$work/rows" "$@"
}

jobcolumns() {
    psql "$DATABASE_URL" -f sql/engine/columns.sql -f scripts/checks/jobcolumns.sql > "$work/found"
    cat "$work/found"
    [ ! -s "$work/found" ]
}

"$@"
