#!/usr/bin/env bash
# progress.sh COMMAND...: runs a build, and prints all it says; of its lines of progress, `[12/345] …`, one in 15 s.
#
# On a terminal the build draws its own line of progress. Ends with the command's code.
set -euo pipefail

if [ -t 1 ]; then exec "$@"; fi
said=$((SECONDS - 15))
"$@" 2>&1 | while IFS= read -r line; do
    if [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then
        [ $((SECONDS - said)) -ge 15 ] || continue
        said=$SECONDS
    fi
    printf '%s\n' "$line"
done
