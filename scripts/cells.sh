#!/usr/bin/env bash
# cells.sh [PART...]: one worker process for three cells, each a PostgreSQL server of its own, and a front of them.
#
# A PART is lost (one server is killed for 60 s), cost (CPU of a job with three cells and with one), front (bulk enqueue
# and status by the front), grow (a cell is added, drained and removed under load) or move (waiting jobs go to another
# cell while the program is killed); all by default. ERRAND is the program, by default the release build. JOBS jobs are
# drained, MOVED are moved, RATE a second enqueued in each cell, DOWN seconds is one down.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

if [ -z "${ERRAND:-}" ]; then
    scripts/need.sh build database test
    ERRAND=$(scripts/release.sh)/errand
fi
folders=(.errand/cells/0 .errand/cells/1 .errand/cells/2)
stop() { for folder in "${folders[@]}"; do scripts/cluster.sh drop "$folder"; done; }
trap stop EXIT
urls=()
for folder in "${folders[@]}"; do
    scripts/cluster.sh drop "$folder"
    scripts/cluster.sh start "$folder" > /dev/null
    urls+=("$(scripts/cluster.sh url "$folder")")
done
PYTHONPATH=scripts python3 scripts/cells/measure.py "$ERRAND" "${folders[*]}" "${urls[*]}" "$@"
