#!/usr/bin/env bash
# swarm.sh [WORKERS]: many worker processes on one database, directly and behind PgBouncer; 200 by default.
#
# Measures what they cost while nothing is to be done, and when single jobs come: connections, CPU of the server and of
# a worker, memory, statements, and the time from enqueue to start. ERRAND is the program, by default the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

workers=${1:-200}
if [ -z "${ERRAND:-}" ]; then
    scripts/need.sh build database test
    ERRAND=$(scripts/release.sh)/errand
fi
export ERRAND
if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    exec scripts/cluster.sh with .errand/swarm scripts/swarm.sh "$workers"
fi
if [ "${ERRAND_TEST_POOLER_URL:-}" ]; then
    PYTHONPATH=scripts exec python3 scripts/swarm/measure.py "$ERRAND" "$workers" "$ERRAND_CLUSTER_URL" "$ERRAND_TEST_POOLER_URL"
fi
# A worker has up to 14 connections, and 5 while it is idle.
limit=$(psql -X --tuples-only --no-align --command 'show max_connections' "$ERRAND_CLUSTER_URL")
if [ "$limit" -lt $((workers * 14 + 100)) ]; then
    psql -X --quiet --command "alter system set max_connections = $((workers * 14 + 100))" "$ERRAND_CLUSTER_URL"
    scripts/cluster.sh stop .errand/swarm
    scripts/cluster.sh start .errand/swarm
fi
export ERRAND_TEST_DATABASE_URL=$ERRAND_CLUSTER_URL
exec scripts/pooler.sh scripts/swarm.sh "$workers"
