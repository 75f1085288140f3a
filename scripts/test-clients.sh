#!/usr/bin/env bash
# test-clients.sh [chaos SECONDS]: runs workers in Python, Node.js and Go, which pull jobs by SQL (Examples/pull), and
# compares how each job ended with what is expected; then docs/http-api.md and Schemathesis against the HTTP API; then
# test-python.sh. What they print is in .errand/clients.
#
# With chaos, it kills workers of all sorts and the server at random for so long, and counts what was lost.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

scripts/need.sh build database clients
folder=.errand/clients
mkdir -p "$folder"
rm -f "$folder"/*.log
packages=(psycopg[binary]==3.3.9 schemathesis==4.32.5)
if [ "$(cat "$folder/venv/packages" 2> /dev/null)" != "${packages[*]}" ]; then
    python3 -m venv --clear "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
    echo "${packages[*]}" > "$folder/venv/packages"
fi
# node-pg is unpacked and not installed: Debian's package refuses a Node.js that is not Debian's.
if [ ! -d "$folder/node" ]; then
    work=$(mktemp -d "$folder/node.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    (cd "$work" && apt-get -q download node-pg node-split2 && for file in *.deb; do dpkg-deb -x "$file" .; done) \
        > "$folder/node.out" 2>&1 || { cat "$folder/node.out" >&2; exit 69; }
    mv -T "$work" "$folder/node"
fi
program=${ERRAND_BIN:-$(scripts/build.sh debug --product errand)}
# Debian's packages are outside of modules.
GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$PWD/$folder/go go build -o "$folder/worker-go" Examples/pull/worker.go
export NODE_PATH=$PWD/$folder/node/usr/share/nodejs PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$PWD/clients/python/src ERRAND_BIN=$program
if [ "${1:-}" = chaos ]; then
    scripts/cluster.sh drop "$folder/chaos"
    scripts/cluster.sh start "$folder/chaos" > /dev/null
    trap 'scripts/cluster.sh drop "$folder/chaos"' EXIT
    DATABASE_URL=$(scripts/cluster.sh url "$folder/chaos") \
        "$folder/venv/bin/python" Tests/Clients/chaos.py "$program/errand" "$folder" "$folder/chaos" "$2"
    exit
fi
scripts/cluster.sh with --no-sync "$folder/cluster" \
    "$folder/venv/bin/python" Tests/Clients/main.py "$program/errand" "$folder"
scripts/cluster.sh with --no-sync "$folder/http" \
    "$folder/venv/bin/python" Tests/Clients/http_api.py "$program/errand" "$folder"
exec scripts/test-python.sh
