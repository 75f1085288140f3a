#!/usr/bin/env bash
# dist.sh: packs the release programs, then installs, runs, upgrades and removes the package in a new Debian 12, and has
# the Python client's wheel run a job in a new environment.
#
#   dist.sh [FOLDER]     FOLDER has errand and errand-image already; without it, they are built
#
# Needs root and a network for Debian's packages. The new Debian and the packages stay in .errand/dist for the next run.
# There is no systemd in it: what the units start is started from their ExecStart, as their user.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

[ "$(id -u)" -eq 0 ] || { echo "dist.sh: only root may install a package in a Debian of its own" >&2; exit 69; }
scripts/need.sh dist database deploy >&2
packed=$(scripts/dist.sh "$@")
{ read -r tarball; read -r package; read -r wheel; } <<< "$packed"
base=$PWD/.errand/dist/bookworm
archives=$PWD/.errand/dist/archives
root=$PWD/.errand/dist/trial
server=$(mktemp -d /var/tmp/errand-dist.XXXXXX)

fail() { echo "dist.sh: $*" >&2; exit 1; }

# This check's mounts are those of one process, and gone with it.
enter() {
    unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$1/proc"
        mount --bind /dev "$1/dev"
        mount --bind "$2" "$1/var/cache/apt/archives"
        cp /etc/resolv.conf "$1/etc/resolv.conf"
        root=$1
        shift 2
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
    ' enter "$root" "$archives" "$@"
}

# Runs a command in it as the units' user, with this database and these settings.
as_errand() { enter setpriv --reuid errand --regid errand --clear-groups env "$@"; }

# Expects an exit code of a command.
expect() {
    local code=0 wanted=$1 what=$2
    shift 2
    "$@" > "$server/said" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || { cat "$server/said" >&2; fail "$what: expected exit code $wanted, got $code"; }
    echo "ok $what"
}

pids=()
finish() {
    # The child that holds the namespace: with it all of its processes end.
    for pid in "${pids[@]}"; do pkill -KILL --parent "$pid" 2> /dev/null || true; done
    [ ! -f "$server/data/postmaster.pid" ] \
        || as_postgres "$bin/pg_ctl" stop --pgdata "$server/data" --mode immediate > /dev/null
    rm -rf "$server" "$root"
}
as_postgres() { (cd / && runuser -u postgres -- "$@"); }
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -1)
trap finish EXIT

# A server on a loopback port of its own: this check's user can't see a socket of this host.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
chown postgres "$server"
as_postgres "$bin/initdb" --pgdata "$server/data" --username postgres --auth trust --encoding UTF8 --no-sync \
    > "$server/said"
as_postgres "$bin/pg_ctl" start --wait --pgdata "$server/data" --log "$server/log" \
    --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$server -c fsync=off" > "$server/said"
sql() { psql -qXAt "postgresql://postgres@127.0.0.1:$port/${2:-app}" --set ON_ERROR_STOP=1 --command "$1"; }
sql 'create database app' postgres
url="postgresql://postgres@127.0.0.1:$port/app?sslmode=disable"
runs="postgresql://errand_runs@127.0.0.1:$port/app?sslmode=disable"

# Made beside its folder and moved when complete, so that an interrupted run leaves no partial one.
if [ ! -d "$base" ]; then
    rm -rf "$base.new"
    debootstrap --variant=minbase bookworm "$base.new" http://deb.debian.org/debian > "$server/said" 2>&1 \
        || { tail -20 "$server/said" >&2; fail "debootstrap failed"; }
    mv "$base.new" "$base"
fi
mkdir -p "$archives"
rm -rf "$root"
cp -a "$base" "$root"
# Nothing that is installed may start by itself, as in each container; and apt keeps what it fetches.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
echo 'APT::Keep-Downloaded-Packages "true"; Binary::apt-get::APT::Keep-Downloaded-Packages "true";' \
    > "$root/etc/apt/apt.conf.d/keep"

# systemd only warns of a misspelt setting, so any output fails. It reads the package's units among its own.
dpkg-deb --extract "$package" "$server/units"
mkdir -p "$server/units/bin"
cp --no-clobber --recursive /lib/systemd/system "$server/units/lib/systemd/"
cp /bin/sh "$server/units/bin/"
for unit in "$server"/units/lib/systemd/system/errand*.{service,target}; do
    unit=$(basename "$unit")
    said=$(systemd-analyze verify --man=no --root="$server/units" "$unit" 2>&1) || said+=" (it ends with $?)"
    [ -z "$said" ] || fail "systemd-analyze verify $unit: $said"
done
echo "ok systemd reads the package's units without a warning"

cp "$package" "$root/tmp/errand.deb"
expect 0 "apt reads Debian's lists" enter apt-get -q update
expect 0 "apt installs the package with what it depends on" \
    enter apt-get -q -y --no-install-recommends install /tmp/errand.deb
expect 0 "dpkg finds its files as packed" enter dpkg --verify errand

version=$(enter errand --version)
[ "errand_$version-1_$(dpkg --print-architecture).deb" = "$(basename "$package")" ] || fail "it says it is version $version"
echo "ok errand --version is the package's"
# It moves the environment, in front of which Swift's runtime looks for the arguments.
printf '%s\n' '#include <stdlib.h>' '__attribute__((constructor)) static void move(void) { setenv("MOVED", "1", 1); }' \
    | cc -shared -fPIC -x c -o "$root/tmp/moving.so" -
[ "$(enter env LD_PRELOAD=/tmp/moving.so errand --version)" = "$version" ] || fail "errand loses its arguments"
enter env LD_PRELOAD=/tmp/moving.so /usr/lib/errand/errand-image 1073741824 < /dev/null | grep -q libvips \
    || fail "errand-image loses its arguments"
echo "ok preloaded libraries leave the arguments alone"
rights() { enter stat --format '%a %U %G' "$1"; }
[ "$(rights /etc/errand/errand.env)" = "640 root errand" ] || fail "errand.env has other rights"
[ "$(rights /etc/errand)" = "750 root errand" ] || fail "/etc/errand has other rights"
echo "ok only root and the group errand may read the settings"
for unit in errand.target errand-worker.service errand-scheduler.service errand-web.service; do
    [ -n "$(find "$root/etc/systemd/system" -name "$unit")" ] || fail "$unit is not enabled"
done
echo "ok the units are enabled"
# The condition of the unit, as systemd runs it: with the settings of errand.env, and the JSON file or its default.
settings=$root/lib/systemd/system/errand-worker.service.d/database.conf
condition=$(sed -n "s/^ExecCondition=\/bin\/sh -c '\(.*\)'\$/\1/p" "$settings")
condition=${condition//\$\$/\$}
[ -n "$condition" ] || fail "the unit has no condition"
echo '{}' > "$root/tmp/empty.json"
echo '{"database": {"url": "postgresql:///app"}}' > "$root/tmp/full.json"
expect 1 "without a database a unit is skipped" enter ERRAND_CONFIG=/tmp/empty.json sh -c "$condition"
expect 0 "with DATABASE_URL it starts" enter ERRAND_CONFIG=/tmp/empty.json DATABASE_URL=x sh -c "$condition"
expect 0 "with a file that names the database it starts" enter ERRAND_CONFIG=/tmp/full.json sh -c "$condition"

# As systemd prepares a unit's folders: the state belongs to the user.
enter install -d -o errand -g errand -m 700 /var/lib/errand
storage=/var/lib/errand/storage
expect 78 "doctor without a database fails as configuration" as_errand STORAGE_URL=$storage errand doctor
expect 69 "doctor without a server fails as unreachable" \
    as_errand "DATABASE_URL=postgresql://x@127.0.0.1:1/x?connect_timeout=2" STORAGE_URL=$storage errand doctor
expect 78 "doctor without a schema fails as configuration" \
    as_errand "DATABASE_URL=$url" STORAGE_URL=$storage errand doctor --as worker

# What the units start, from their own text.
unit_command() { sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/errand-$1.service"; }
expect 0 "errand-migrate.service makes the schema" as_errand "DATABASE_URL=$url" $(unit_command migrate)
sql 'create user errand_runs in role errand_worker; create user errand_watches in role errand_monitor'
expect 0 "errand-storage.service marks the store" \
    as_errand "DATABASE_URL=$runs" STORAGE_URL=$storage $(unit_command storage)
expect 0 "doctor is content, photos included" \
    as_errand "DATABASE_URL=$runs" STORAGE_URL=$storage errand doctor --as worker

start() {
    local process=$1
    as_errand "DATABASE_URL=$2" STORAGE_URL=$storage "${@:3}" $(unit_command "$process") > "$server/$process.log" 2>&1 &
    pids+=($!)
}
start worker "$runs"
start scheduler "$runs"
start web "postgresql://errand_watches@127.0.0.1:$port/app?sslmode=disable" ERRAND_WEB_ADDRESS=127.0.0.1:0

# Waits until a query returns true.
until_true() {
    for _ in $(seq 300); do
        if [ "$(sql "$2" 2> /dev/null)" = t ]; then echo "ok $1"; return; fi
        sleep 0.1
    done
    tail -n 5 "$server"/*.log >&2
    fail "within 30 s not: $1"
}
until_true "the worker has registered" 'select count(*) = 1 from errand.workers where not is_lost'
sql "select from errand.enqueue('noop', '{}', unique_key => 'dist')"
until_true "the worker runs a job" \
    "select count(*) = 1 from errand.jobs where unique_key = 'dist' and state = 'succeeded'"
until_true "the scheduler reads the schedules" \
    "select value = 1 from errand.metrics() where name = 'errand_scheduler_up'"
listening() { sed -n 's/.*listening.*address=127\.0\.0\.1:\([0-9]*\).*/\1/p' "$server/web.log"; }
for _ in $(seq 100); do [ -z "$(listening)" ] || break; sleep 0.1; done
expect 0 "the web process is ready" curl -sf "http://127.0.0.1:$(listening)/readyz"

python3 -m venv "$server/python"
expect 0 "pip installs the wheel, with psycopg" \
    "$server/python/bin/pip" install --quiet --disable-pip-version-check "${wheel}[binary]"
expect 0 "its command starts" "$server/python/bin/python" -m errand worker --help
expect 0 "it has the program's version" "$server/python/bin/python" -c "
from importlib.metadata import version
assert version('errand-queue') == '$version', version('errand-queue')"
expect 0 "its worker runs a job" "$server/python/bin/python" -c "
import threading
from errand import Errand, Worker
worker = Worker()
@worker.job('dist_wheel', queue='dist_wheel')
def handle(payload):
    return payload
thread = threading.Thread(target=worker.run, args=('$url',))
thread.start()
try:
    with Errand('$url') as errand:
        assert errand.enqueue(handle, [1], follow=True).result(60) == [1]
finally:
    worker.stop()
    thread.join()"

# SIGTERM to the program itself: it is the first process of its namespace, and a grandchild of the shell that waits.
for pid in "${pids[@]}"; do kill -TERM "$(pgrep --parent "$(pgrep --parent "$pid")")"; done
for pid in "${pids[@]}"; do expect 0 "a process ends with 0 after SIGTERM" wait "$pid"; done
pids=()

echo ERRAND_LOG_FORMAT=json >> "$root/etc/errand/errand.env"
expect 0 "an upgrade to the same version keeps the settings" enter dpkg --install /tmp/errand.deb
grep -q '^ERRAND_LOG_FORMAT=json' "$root/etc/errand/errand.env" || fail "the settings are gone after an upgrade"
expect 0 "removed, it leaves the settings" enter dpkg --remove errand
[ -f "$root/etc/errand/errand.env" ] || fail "removed, it takes the settings"
[ ! -L "$root/usr/bin/errand" ] || fail "removed, it leaves its program"
expect 0 "it is purged" enter dpkg --purge errand
[ ! -e "$root/etc/errand" ] || fail "purged, it leaves /etc/errand"
left=$(find "$root/etc/systemd" "$root/var/lib/systemd" -name 'errand*')
[ -z "$left" ] || fail "purged, it leaves $left"
[ -d "$root$storage" ] || fail "purged, it takes the photos with it"
echo "ok purged, it leaves the photos alone"

# The tarball has all that its README installs.
mkdir "$server/tarball"
tar --extract --file "$tarball" --directory "$server/tarball" --strip-components 1
[ "$("$server/tarball/errand" --version)" = "$version" ] || fail "the tarball has another version"
for file in errand errand-image systemd/errand.target systemd/errand-.service.d/hardening.conf LICENSE README.md; do
    [ -f "$server/tarball/$file" ] || fail "the tarball lacks $file"
done
echo "ok the tarball is complete"
