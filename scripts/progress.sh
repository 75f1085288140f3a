#!/usr/bin/env bash
# progress.sh COMMAND...: runs a build and prints its output, but at most one line of progress, `[12/345] …`, per 15 s.
#
# On a terminal the build draws its own line of progress. The exit code is the command's.
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
