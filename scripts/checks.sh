#!/usr/bin/env bash
# checks.sh [NAME...]: checks the rules of CONTRIBUTING.md that no test covers.
#
# Prints one line per check: `ok NAME`, or `FAILED NAME` and why. Runs all by default, the quick ones first. The exit
# code is 1 if a check failed.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database demo checks deploy || exit
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(
    layout imports folders layers environment ctypes tests jobs words columns objects length links snippets peers logs monitoring
    released comments twice interface docc deploy variables examples benchmarks checkout)

run() {
    case $1 in
        layout) swift format lint --strict --parallel --recursive Package.swift Sources Tests Examples Benchmarks jobs sql ;;
        comments | twice | interface) scripts/checks/schema.sh "$1" ;;
        monitoring) python3 scripts/checks/monitoring.py ;;
        logs) python3 scripts/checks/logs.py ;;
        peers) python3 -m unittest discover --start-directory Benchmarks/Peers ;;
        released) scripts/released.sh check ;;
        docc | deploy | variables | examples | benchmarks | checkout) "scripts/checks/$1.sh" ;;
        *) python3 scripts/checks/source.py "$1" ;;
    esac
}

failed=0
for name in "${names[@]}"; do
    if output=$(run "$name" 2>&1 < /dev/null); then
        echo "ok $name"
    else
        failed=1
        echo "FAILED $name"
        printf '%s\n' "$output" | sed 's/^/    /'
    fi
done
exit "$failed"
