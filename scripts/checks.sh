#!/usr/bin/env bash
# checks.sh [NAME...]: checks the rules of CONTRIBUTING.md that no test covers.
#
# NAME is a check, `text` for all that only read files, or `built` for all that need the build; without one, all run.
# Prints one line per check with its seconds: `ok NAME`, or `FAILED NAME` and why. The exit code is 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

text=(
    layout imports folders layers environment ctypes tests jobs words replies columns objects internal length links snippets peers
    logs monitoring peernames released)
built=(benchmarks comments twice interface jobcolumns deploy examples package docc variables checkout)
names=()
[ $# -gt 0 ] || set -- text built
for name in "$@"; do
    case $name in
        text) names+=("${text[@]}") ;;
        built) names+=("${built[@]}") ;;
        *) names+=("$name") ;;
    esac
done

scripts/need.sh build database demo checks deploy || exit
for name in "${names[@]}"; do
    [[ " ${built[*]} " == *" $name "* ]] || continue
    # Once for all checks.
    ERRAND_BIN=$(scripts/build.sh debug --build-tests) || exit
    export ERRAND_BIN
    break
done

run() {
    case $1 in
        layout) swift format lint --strict --parallel --recursive Package.swift Sources Tests Examples Benchmarks jobs sql ;;
        comments | twice | interface | jobcolumns) scripts/checks/schema.sh "$1" ;;
        # Debian's own Python: only it can import the package python3-yaml.
        monitoring) /usr/bin/python3 scripts/checks/monitoring.py ;;
        logs | peernames) python3 "scripts/checks/$1.py" ;;
        peers) python3 -m unittest discover --start-directory Benchmarks/Peers ;;
        released) scripts/released.sh check ;;
        *) if [ -x "scripts/checks/$1.sh" ]; then "scripts/checks/$1.sh"; else python3 scripts/checks/source.py "$1"; fi ;;
    esac
}

failed=0
for name in "${names[@]}"; do
    began=$SECONDS
    if output=$(run "$name" 2>&1 < /dev/null); then
        echo "ok $name, $((SECONDS - began)) s"
    else
        failed=1
        echo "FAILED $name after $((SECONDS - began)) s"
        printf '%s\n' "$output" | sed 's/^/    /'
    fi
done
exit "$failed"
