#!/usr/bin/env bash
# schema.sh comments|twice: checks of the database that `errand migrate` makes.
#
#   comments   every schema, table, column, view, function, sequence and type says what it is, so that \d+ is the manual
#   twice      a second run changes nothing, even when every function, view, role and seed is applied again
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    swift build --product errand --quiet
    exec scripts/cluster.sh with .errand/test "scripts/checks/schema.sh" "$@"
fi

database=check_$1
admin=$(scripts/cluster.sh url .errand/test postgres)
DATABASE_URL=$(scripts/cluster.sh url .errand/test "$database")
export DATABASE_URL
errand=$(swift build --show-bin-path)/errand
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

work=$(mktemp -d)
psql "$admin" -c "drop database if exists $database" -c "create database $database"
trap 'rm -rf "$work"; psql "$admin" -c "drop database if exists $database with (force)"' EXIT
"$errand" migrate > "$work/first.log"

comments() {
    psql "$DATABASE_URL" -f scripts/checks/uncommented.sql > "$work/found"
    sed 's/$/ has no comment/' "$work/found"
    [ ! -s "$work/found" ]
}

# A dump's first and last lines may carry a random key; the rest is the schema.
dump() { pg_dump --schema-only "$DATABASE_URL" | grep -v '^\\\(un\)\?restrict '; }

twice() {
    dump > "$work/first.sql"
    "$errand" migrate > /dev/null
    dump > "$work/second.sql"
    diff "$work/first.sql" "$work/second.sql"
}

"$1"
