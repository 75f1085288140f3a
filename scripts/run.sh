#!/usr/bin/env bash
# run.sh: builds the service, starts a private PostgreSQL below .errand/run, migrates it, starts `errand run`, runs the
# demo of its jobs, and serves until Ctrl-C.
#
# Photos are stored below .errand/storage, or in STORAGE_URL. The database stays for the next run; `make clean` deletes
# it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

# step WHAT COMMAND...: prints WHAT, runs the command, and prints its duration.
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
# The program refuses a variable that it doesn't know.
unset ERRAND_RUN_BEGAN

export DATABASE_URL=$ERRAND_CLUSTER_URL
export ERRAND_STORAGE=$PWD/.errand/storage
# Without a key of Apple's, pushes are logged, so that the demo shows them as sent.
[ -n "${APNS_KEY:-}${FCM_SERVICE_ACCOUNT:-}" ] || export ERRAND_PUSH=log
PATH=$ERRAND_BIN:$PATH
log=.errand/run/errand.log

step "4 of 5: creating or upgrading the schema; some seconds" errand migrate
errand storage init
echo "5 of 5: starting errand run, and showing its jobs at work; one to two minutes"
began=$EPOCHSECONDS
# The service logs to a file, so that the output here stays readable. It has its own process group, so that it receives
# a signal once: the second signal stops it without a drain.
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

# A signal interrupts `wait` before the service exits: wait again.
trap 'signalled=yes stopping=yes; kill -TERM "$service" 2> /dev/null || true' INT TERM HUP
while :; do
    signalled=no code=0
    wait "$service" || code=$?
    [ "$signalled" = yes ] || break
done
[ "$code" -eq 0 ] || { echo "errand run ended with $code; its log is $log" >&2; exit "$code"; }
[ "$shown" -eq 0 ] || [ "$stopping" = yes ] || exit "$shown"
echo "Stopped."
