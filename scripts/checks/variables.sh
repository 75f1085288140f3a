#!/usr/bin/env bash
# variables.sh: `make test` and `make run` work in a shell with a wrong value in every variable of libpq.
set -euo pipefail
cd "$(dirname "$0")/../.."

for variable in PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGSYSCONFDIR \
    PGREQUIREAUTH PGCHANNELBINDING PGOPTIONS PGAPPNAME PGSSLMODE PGREQUIRESSL PGSSLNEGOTIATION PGSSLCERT PGSSLKEY \
    PGSSLCOMPRESSION PGSSLCERTMODE PGSSLROOTCERT PGSSLCRL PGSSLCRLDIR PGSSLSNI PGSSLMINPROTOCOLVERSION \
    PGSSLMAXPROTOCOLVERSION PGREQUIREPEER PGGSSENCMODE PGKRBSRVNAME PGGSSLIB PGGSSDELEGATION PGCONNECT_TIMEOUT \
    PGCLIENTENCODING PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS PGDATESTYLE PGTZ PGGEQO PGLOCALEDIR PGDATA PGCLUSTER; do
    export "$variable=nonsense"
done
make test FILTER='TestDatabaseTests|MigrateTests'

# The steps of `make run`, without the build.
# A store belongs to one database, so this database has one of its own, beside it. Both are new.
scripts/cluster.sh drop .errand/check
export STORAGE_URL=file://$PWD/.errand/check/storage
mkdir -p .errand/run
said=$(mktemp)
scripts/cluster.sh with .errand/check scripts/run.sh > "$said" 2>&1 &
run=$!
trap 'kill -TERM "$run" 2> /dev/null || true; rm -f "$said"' EXIT
for _ in $(seq 3000); do
    if grep -q '^Errand is running' "$said"; then
        kill -TERM "$run"
        break
    fi
    kill -0 "$run" 2> /dev/null || break
    sleep 0.1
done
code=0
wait "$run" || code=$?
if [ "$code" -ne 0 ] || ! grep -q '^Stopped.' "$said"; then
    echo "run.sh ended with $code:"
    tail -n 30 "$said"
    exit 1
fi
