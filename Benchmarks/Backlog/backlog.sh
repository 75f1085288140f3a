#!/usr/bin/env bash
# backlog.sh [WAITING...]: how long a claim takes however many jobs wait; 1000 100000 10000000 by default.
#
# Makes a database a length on a cluster of its own below .errand/ and keeps it: a second run only measures. BATCHES (20 100)
# says how many jobs a claim takes, CLAIMS (600) how often. Fails where a median is over 1.2 times that of the first length.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

[ $# -gt 0 ] || set -- 1000 100000 10000000
cluster=.errand/backlog
scripts/need.sh build database checks
scripts/cluster.sh start "$cluster"
trap 'scripts/cluster.sh stop "$cluster"' EXIT
admin=$(scripts/cluster.sh url "$cluster" postgres)
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

databases=()
for waiting in "$@"; do
    database=backlog_$waiting
    if [ -z "$(psql "$admin" -c "select 1 from pg_database where datname = '$database'")" ]; then
        psql "$admin" -c "drop database if exists ${database}_draft" -c "create database ${database}_draft"
        draft=$(scripts/cluster.sh url "$cluster" "${database}_draft")
        ERRAND_BIN=${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}
        DATABASE_URL=$draft "$ERRAND_BIN/errand" migrate > /dev/null
        echo "Filling $database"
        psql "$draft" -v waiting="$waiting" -f Benchmarks/Backlog/fill.sql
        psql "$admin" -c "alter database ${database}_draft rename to $database"
        psql "$(scripts/cluster.sh url "$cluster" "$database")" -c "select errand.adopt('made under another name')" > /dev/null
    fi
    databases+=("$waiting=$(scripts/cluster.sh url "$cluster" "$database")")
done
psql "$admin" -c checkpoint

echo "load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg)"
failed=0
for batch in ${BATCHES:-20 100}; do
    python3 Benchmarks/Backlog/claims.py "$batch" "${CLAIMS:-600}" "${databases[@]}" || failed=1
done
exit "$failed"
