#!/usr/bin/env bash
# compare.sh [ROUNDS]: the Swift worker beside a C program that does nothing but claim and finish, in turn on one server.
#
# The C program (qbench.c) has two enqueuers and two workers, each with a connection and prepared statements of its own, on
# the bare tables of z_final/. Prints each round's jobs/s and the ratio of the medians. Takes about a minute for 3 rounds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

rounds=${1:-3}
if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    scripts/need.sh build database
    ERRAND_BIN=$(scripts/release.sh --quiet)
    export ERRAND_BIN
    exec scripts/cluster.sh with .errand/bench "$here/compare.sh" "$rounds"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -w -o "$work/qbench" "$here/qbench.c" -I"$(pg_config --includedir)" -lpq -lpthread -lm
psql -qX "$ERRAND_CLUSTER_URL" -c "drop database if exists bench_c" -c "create database bench_c" \
    -c "drop database if exists bench_errand" -c "create database bench_errand"
c_url=${ERRAND_CLUSTER_URL/\/errand/\/bench_c}
export DATABASE_URL=${ERRAND_CLUSTER_URL/\/errand/\/bench_errand}
"$ERRAND_BIN/errand" migrate > /dev/null

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for round in $(seq "$rounds"); do
    "$work/qbench" -conn "$c_url" -root "$here" -ddir . -d z_final -hints 4 -b 100 -eb 100 -e 2 -w 2 -t 6 2> /dev/null |
        sed -n 's/.*jobs_s=\([0-9]*\).*/\1/p' >> "$work/c"
    "$ERRAND_BIN/errand" bench --jobs 400000 --batch 100 --skip-idle --json |
        python3 -c 'import json, sys; print(round(json.load(sys.stdin)["jobs_per_second"]))' >> "$work/errand"
    echo "round $round: C $(tail -1 "$work/c") jobs/s, errand $(tail -1 "$work/errand") jobs/s"
done
c=$(median "$work/c") errand=$(median "$work/errand")
awk -v c="$c" -v e="$errand" 'BEGIN { printf "medians: C %d jobs/s, errand %d jobs/s, ratio %.2f\n", c, e, e / c }'
