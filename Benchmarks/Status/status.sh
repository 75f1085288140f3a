#!/usr/bin/env bash
# status.sh views|questions [HISTORY WAITING FAILED]: how long each status view, or each call of
# docs/operations.md, takes on a big database: by default 10,000,000 ended jobs, 1,000,000 waiting, 100,000 failed.
#
# Makes the database on a cluster of its own below .errand/ and keeps it: a second run only looks. times.sh and
# questions.py print the times, in milliseconds, and fail where one is over 50.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

what=${1:-views} history=${2:-10000000} waiting=${3:-1000000} failed=${4:-100000}
cluster=.errand/status
database=status_${history}_${waiting}_${failed}

scripts/cluster.sh start "$cluster"
trap 'scripts/cluster.sh stop "$cluster"' EXIT
url=$(scripts/cluster.sh url "$cluster" "$database")
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

if [ -z "$(psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "select 1 from pg_database where datname = '$database'")" ]; then
    psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "create database ${database}_draft"
    draft=$(scripts/cluster.sh url "$cluster" "${database}_draft")
    programs=$(scripts/build.sh debug --product errand)
    DATABASE_URL=$draft "$programs/errand" migrate > /dev/null
    echo "Filling $database: $history ended, $waiting waiting, $failed failed"
    psql "$draft" -v history="$history" -v waiting="$waiting" -v failed="$failed" -f Benchmarks/Status/fill.sql
    psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "alter database ${database}_draft rename to $database"
    psql "$url" -c "select errand.adopt('made under another name')" > /dev/null
fi

case $what in
    views) Benchmarks/Status/times.sh "$url" ;;
    questions) python3 Benchmarks/Status/questions.py "$url" ;;
    *) echo "status.sh: expected views or questions, got $what" >&2; exit 64 ;;
esac
