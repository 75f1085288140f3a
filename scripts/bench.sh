#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: measures the release build on a PostgreSQL of its own; the arguments go to `errand bench`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    scripts/need.sh build database
    swift build -c release --product errand --quiet
    exec scripts/cluster.sh with .errand/bench scripts/bench.sh "$@"
fi
export DATABASE_URL=$ERRAND_CLUSTER_URL
errand=$(swift build -c release --show-bin-path)/errand
"$errand" migrate
exec "$errand" bench "$@"
