#!/bin/bash
# hold.sh ARGUMENT...: runs errand. If it ends with 64 or 78, usage or configuration, this waits until it is stopped.
#
# Compose starts a container again whatever its exit code was, and a start fixes neither of these. Held, the container is
# `unhealthy`, and its log ends with the reason.
errand "$@" &
process=$!
stopped=no
# The process ends by its own rules, within stop_grace_period.
trap 'stopped=yes; kill -TERM "$process" 2> /dev/null' TERM INT
# A signal interrupts `wait` before the process ends: wait again. The last one returns the exit code.
while kill -0 "$process" 2> /dev/null; do wait "$process"; done
wait "$process"
code=$?
if [ "$stopped" = no ] && { [ "$code" -eq 64 ] || [ "$code" -eq 78 ]; }; then
    echo "errand $1 has ended with $code and is not started again: fix the above, then docker compose up --detach" >&2
    while [ "$stopped" = no ]; do sleep 1; done
fi
exit "$code"
