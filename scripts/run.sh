#!/usr/bin/env bash
# run.sh: from a checkout to a service that works: builds it, starts a private PostgreSQL below .errand/run, brings its
# schema up to date, starts `errand run`, shows its six jobs at work, and serves until Ctrl-C.
#
# Photos are kept below .errand/storage, or where STORAGE_URL says.
#
# The database stays for the next run; `make clean` removes it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

# step WHAT COMMAND...: says what comes, does it, and says how long it took.
step() {
    local began=$EPOCHSECONDS
    echo "$1"
    shift
    "$@"
    echo "    took $((EPOCHSECONDS - began)) s"
}
build() { ERRAND_BIN=$(scripts/release.sh); }

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    step "1 of 5: installing what is missing from Debian" scripts/need.sh build database demo
    step "2 of 5: building the programs; the first time 10 to 20 minutes on two cores, then seconds" build
    echo "3 of 5: starting a private PostgreSQL below .errand/run; some seconds"
    export ERRAND_BIN ERRAND_RUN_BEGAN=$EPOCHSECONDS
    exec scripts/cluster.sh with .errand/run scripts/run.sh
fi
echo "    took $((EPOCHSECONDS - ${ERRAND_RUN_BEGAN:-$EPOCHSECONDS})) s"

export DATABASE_URL=$ERRAND_CLUSTER_URL
export ERRAND_STORAGE=$PWD/.errand/storage
# Without a key of Apple's: pushes go to the log, so that the demo shows them sent.
[ -n "${APNS_KEY:-}" ] || export ERRAND_PUSH=log
PATH=$ERRAND_BIN:$PATH
log=.errand/run/errand.log

step "4 of 5: creating or upgrading the schema; some seconds" errand migrate
errand storage init
echo "5 of 5: starting errand run, and showing its jobs at work; up to two minutes"
began=$EPOCHSECONDS
# With its log in a file, so that what is shown here stays readable; in a process group of its own, so that a signal reaches
# it once: the second one would mean to stop at once.
set -m
errand run > "$log" 2>&1 &
service=$!
set +m
stopping=no
trap 'stopping=yes; kill -TERM "$service" 2> /dev/null || true' INT TERM HUP

shown=0
scripts/demo.sh || shown=$?
if [ "$shown" -eq 0 ]; then
    cat << END
    took $((EPOCHSECONDS - began)) s

Errand is running, and what it stored lies in ${STORAGE_URL:-$ERRAND_STORAGE}. Enqueue a job from another shell:

    psql '$DATABASE_URL' -c "select * from errand.enqueue('noop')"
    DATABASE_URL='$DATABASE_URL' $ERRAND_BIN/errand status

Its log is $log. Ctrl-C stops it, and PostgreSQL with it.
END
elif [ "$stopping" = no ]; then
    echo "The demonstration failed; the log of the service, $log, ends:" >&2
    tail -n 20 "$log" >&2
    kill -TERM "$service" 2> /dev/null || true
fi

# A signal ends a `wait` before the service has ended: ask again.
trap 'signalled=yes stopping=yes; kill -TERM "$service" 2> /dev/null || true' INT TERM HUP
while :; do
    signalled=no code=0
    wait "$service" || code=$?
    [ "$signalled" = yes ] || break
done
[ "$code" -eq 0 ] || { echo "errand run ended with $code; its log is $log" >&2; exit "$code"; }
[ "$shown" -eq 0 ] || [ "$stopping" = yes ] || exit "$shown"
echo "Stopped."
