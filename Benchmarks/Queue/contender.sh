#!/usr/bin/env bash
# contender.sh describe | setup | enqueue --jobs N | work [--handler-us U]: the C baseline as a contender of the bench.
#
# qbench.c does nothing but claim and finish, on the bare tables of z_final/, in batches of Errand's default size. It is
# compiled when it is missing or older than its source.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
built=$here/../../.errand/bench-tools/qbench
batch=500

if [ ! -x "$built" ] || [ "$here/qbench.c" -nt "$built" ]; then
    mkdir -p "$(dirname "$built")"
    cc -O2 -w -o "$built.$$" "$here/qbench.c" -I"$(pg_config --includedir)" -lpq -lpthread -lm
    mv "$built.$$" "$built"
fi

usage() { sed -n '2p' "$0" >&2; exit 2; }
qbench() { exec "$built" -conn "$DATABASE_URL" -root "$here" -ddir . -d z_final -keep 1 -lines 1 "$@"; }

action=${1:-}
shift || true
jobs='' burn=0
while [ $# -gt 0 ]; do
    case $1 in
        --jobs) jobs=${2:-} ;;
        --handler-us) burn=${2:-} ;;
        *) usage ;;
    esac
    shift 2 || usage
done

case $action in
    describe)
        cat << END
{"name": "c", "version": "z_final", "settings": "batch $batch, a connection a process", "finished_job_is": "kept", \
"unfinished": "select exists (select from jobs)", "bulk": "an array", "language": "C"}
END
        ;;
    setup) psql --no-psqlrc --quiet "$DATABASE_URL" --set ON_ERROR_STOP=1 -f "$here/z_final/schema.sql" 2> /dev/null ;;
    enqueue) [ -n "$jobs" ] || usage; qbench -e 0 -w 0 -prefill "$jobs" ;;
    work) qbench -e 0 -w 1 -b "$batch" -hints 4 -t 1000000 -burn "$burn" ;;
    *) usage ;;
esac
