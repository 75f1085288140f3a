#!/usr/bin/env bash
# status.sh [HISTORY WAITING FAILED]: how long each status view takes on a big database; 10,000,000 1,000,000 100,000.
#
# Makes the database on a cluster of its own below .errand/ and keeps it: a second run only looks. Prints for each view the
# first time, in a fresh session, and the median of 5 further ones, in milliseconds, and fails where that is over 50.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

history=${1:-10000000} waiting=${2:-1000000} failed=${3:-100000}
cluster=.errand/status
database=status_${history}_${waiting}_${failed}

scripts/cluster.sh start "$cluster"
trap 'scripts/cluster.sh stop "$cluster"' EXIT
url=$(scripts/cluster.sh url "$cluster" "$database")
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

if [ -z "$(psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "select 1 from pg_database where datname = '$database'")" ]; then
    psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "create database ${database}_draft"
    draft=$(scripts/cluster.sh url "$cluster" "${database}_draft")
    swift build --product errand --quiet
    DATABASE_URL=$draft "$(swift build --show-bin-path)/errand" migrate > /dev/null
    echo "Filling $database: $history ended, $waiting waiting, $failed failed"
    psql "$draft" -v history="$history" -v waiting="$waiting" -v failed="$failed" -f Benchmarks/Status/fill.sql
    psql "$(scripts/cluster.sh url "$cluster" postgres)" -c "alter database ${database}_draft rename to $database"
    psql "$url" -c "select errand.adopt('made under another name')" > /dev/null
fi

Benchmarks/Status/times.sh "$url"
