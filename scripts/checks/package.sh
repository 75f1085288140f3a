#!/usr/bin/env bash
# package.sh: builds the package of docs/start.md, with its text as it stands there, from a clone of this commit, and
# runs its program on an empty database.
#
# It alone shows what a reader's package gets: the library `Errand` by its address, without the traits of the program.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

[ -n "${ERRAND_CLUSTER_URL:-}" ] || exec scripts/cluster.sh with --no-sync .errand/test scripts/checks/package.sh

folder=.build-package
rm -rf "$folder/errand" "$folder/greeter/Package.swift" "$folder/greeter/Sources"
mkdir -p "$folder/greeter/Sources/Greeter"
git clone --quiet --bare . "$folder/errand"
git -C "$folder/errand" branch --force main HEAD 2> /dev/null || true
# The document's first two blocks of Swift are the manifest and the program.
block() { awk -v wanted="$1" '/^```swift/ { inside = ++number == wanted; next } /^```/ { inside = 0 } inside' docs/start.md; }
block 1 | sed "s|https://your.host/errand.git|$PWD/$folder/errand|" > "$folder/greeter/Package.swift"
block 2 > "$folder/greeter/Sources/Greeter/main.swift"
grep -q "$folder/errand" "$folder/greeter/Package.swift" || { echo "the manifest of docs/start.md has no address"; exit 1; }
built=$(scripts/build.sh debug --quiet --package-path "$folder/greeter")

admin=$(scripts/cluster.sh url .errand/test postgres)
url=$(scripts/cluster.sh url .errand/test check_package)
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }
said=$(mktemp)
program=
finish() {
    # This program handles no signal.
    [ -z "$program" ] || kill -KILL "$program" 2> /dev/null || true
    rm -f "$said"
    psql "$admin" -c "drop database if exists check_package with (force)" 2> /dev/null
}
trap finish EXIT
psql "$admin" -c "drop database if exists check_package" -c "create database check_package" 2> /dev/null
"$built/Greeter" "$url" > "$said" 2>&1 &
program=$!
done="select exists (select from errand.jobs where kind = 'greet' and state = 'succeeded' and attempt = 2)"
for _ in $(seq 150); do
    [ "$(psql "$url" -c "$done" 2> /dev/null || true)" != t ] || break
    sleep 0.1
done
if [ "$(psql "$url" -c "$done")" != t ]; then
    echo "the program of docs/start.md has not done its job within 15 s"
    tail -n 20 "$said"
    exit 1
fi
schemas=$(psql "$url" -c "select string_agg(nspname, ' ' order by nspname) from pg_namespace
    where nspname !~ '^(pg_|information_schema|public)'")
[ "$schemas" = "errand errand_internal" ] || { echo "it has made other schemas than the engine's two: $schemas"; exit 1; }
