#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: measures the release build on a PostgreSQL of its own; the arguments go to `errand bench`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    scripts/need.sh build database
    ERRAND_BIN=$(scripts/release.sh --quiet)
    export ERRAND_BIN
    exec scripts/cluster.sh with .errand/bench scripts/bench.sh "$@"
fi
export DATABASE_URL=$ERRAND_CLUSTER_URL
"$ERRAND_BIN/errand" migrate
exec "$ERRAND_BIN/errand" bench "$@"
