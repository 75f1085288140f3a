#!/usr/bin/env bash
# run.sh: builds the service, starts a private PostgreSQL below .errand/run, migrates it, starts `errand run`, runs the
# demo of its jobs, and serves until Ctrl-C.
#
# The programs are those of the debug build, which `make test` uses too: it takes half the time of a release build.
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
build() {
    scripts/build.sh debug --product errand-image > /dev/null
    ERRAND_BIN=$(scripts/build.sh debug --product errand)
}

if [ -z "${ERRAND_CLUSTER_URL:-}" ]; then
    step "1 of 5: installing what is missing from Debian" scripts/need.sh build database demo
    step "2 of 5: building the programs; the first time 5 to 10 minutes on two cores, then seconds" build
    echo "3 of 5: starting a private PostgreSQL below .errand/run; some seconds"
    export ERRAND_BIN ERRAND_RUN_BEGAN=$EPOCHSECONDS
    exec scripts/cluster.sh with .errand/run scripts/run.sh
fi
echo "    took $((EPOCHSECONDS - ${ERRAND_RUN_BEGAN:-$EPOCHSECONDS})) s"
# The program refuses a variable that it doesn't know.
unset ERRAND_RUN_BEGAN

export DATABASE_URL=$ERRAND_CLUSTER_URL
export STORAGE_URL=${STORAGE_URL:-$PWD/.errand/storage}
# The texts of errors are those of the demo: no person's data gets into the log.
export ERRAND_LOG_ERRORS=${ERRAND_LOG_ERRORS:-text}
# Without a key of Apple's, pushes are logged, so that the demo shows them as sent.
[ -n "${APNS_KEY:-}${FCM_SERVICE_ACCOUNT:-}" ] || export ERRAND_PUSH=log
PATH=$ERRAND_BIN:$PATH
# A log-in for the page, which is read-only without one. The page is served on this machine alone.
if [ -z "${ERRAND_WEB_PASSWORDS:-}${ERRAND_WEB_TOKENS:-}" ]; then
    [ -s .errand/run/token ] || (umask 077 && od -An -N 12 -tx1 /dev/urandom | tr -d ' \n' > .errand/run/token)
    ERRAND_WEB_TOKENS=demo=$(< .errand/run/token)
    export ERRAND_WEB_TOKENS
    log_in="Log in as demo, with ${ERRAND_WEB_TOKENS#*=} in place of a password."
fi
# At the default address, or at a free port where another program has that.
if [ -z "${ERRAND_WEB_ADDRESS:-}" ] && (: < /dev/tcp/127.0.0.1/8080) 2> /dev/null; then
    export ERRAND_WEB_ADDRESS=127.0.0.1:0
fi
log=.errand/run/errand.log

step "4 of 5: creating or upgrading the schema; some seconds" errand migrate --apps all
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
trap 'stopping=yes; kill -TERM "$service" 2> /dev/null || true' INT TERM HUP QUIT

shown=0
scripts/demo.sh || shown=$?
if [ "$shown" -eq 0 ]; then
    cat << END
    took $((EPOCHSECONDS - began)) s

Errand is running, and what it stored lies in $STORAGE_URL. Enqueue a job from another shell:

    psql '$DATABASE_URL' -c "select * from errand.enqueue('noop')"
    DATABASE_URL='$DATABASE_URL' $ERRAND_BIN/errand status

Its page is at http://$(grep -o 'listening .*address=[^ ]*' "$log" | sed 's/.*=//; 1q'). ${log_in:-}

Its log is $log. Ctrl-C stops it, and PostgreSQL with it.
END
elif [ "$stopping" = no ]; then
    echo "The demonstration failed; the log of the service, $log, ends:" >&2
    tail -n 20 "$log" >&2
    kill -TERM "$service" 2> /dev/null || true
fi

# A signal interrupts `wait` before the service exits: wait again.
trap 'signalled=yes stopping=yes; kill -TERM "$service" 2> /dev/null || true' INT TERM HUP QUIT
while :; do
    signalled=no code=0
    wait "$service" || code=$?
    [ "$signalled" = yes ] || break
done
[ "$code" -eq 0 ] || { echo "errand run ended with $code; its log is $log" >&2; exit "$code"; }
[ "$shown" -eq 0 ] || [ "$stopping" = yes ] || exit "$shown"
echo "Stopped."
