#!/usr/bin/env bash
# cluster.sh: a private PostgreSQL cluster in a folder, reached through a Unix socket only.
#
#   cluster.sh start DIR               creates it if missing, and starts it if stopped
#   cluster.sh stop DIR                stops it; prints nothing if none runs
#   cluster.sh drop DIR                stops it and deletes all of its data
#   cluster.sh url DIR [DATABASE]      prints its URL; the database is `errand` by default
#   cluster.sh with [--no-sync] DIR COMMAND...
#                                      starts it, runs the command with ERRAND_CLUSTER_URL set, and stops it even
#                                      if the command fails; the exit code is the command's. With --no-sync, its data
#                                      is new, in memory if there is room, never synced, and deleted at the end
#
# PostgreSQL refuses to run as root: a cluster that root starts belongs to the user postgres or nobody.
set -euo pipefail
. "$(dirname "$0")/environment.sh"

die() { echo "cluster.sh: $*" >&2; exit 69; }
[ $# -ge 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 64; }

action=$1 sync=on
shift
if [ "$1" = --no-sync ]; then
    sync=off
    shift
fi
folder=$(realpath -m "$1")
shift

# The user of the server process.
server_user=$(id -un)
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    server_user=postgres
    id postgres > /dev/null 2>&1 || server_user=nobody
    as_server=(runuser -u "$server_user" --)
fi

# A socket's path has at most 107 bytes, and a checkout's may be longer. So the socket is under /tmp, named by the
# folder.
mark=$(printf '%s' "$folder" | cksum | cut -d ' ' -f 1)
sockets=/tmp/errand-$(id -u)-$mark

# The server can't read a checkout in a home folder that is closed to other users. Then the data is in /var/tmp.
#
# Data that isn't synced is in /dev/shm if 6 GB are free there: creating and dropping a test's database takes half the
# time then.
make_folder() {
    mkdir -p "$folder"
    local base=$folder room
    if [ "$(id -u)" -eq 0 ] && ! "${as_server[@]}" test -x "$folder"; then base=/var/tmp/errand-$mark; fi
    if [ "$sync" = off ]; then
        room=$(df --output=avail /dev/shm 2> /dev/null | tail -n 1)
        if [ "${room:-0}" -gt 6000000 ]; then base=/dev/shm/errand-$(id -u)-$mark; else base=$base/unsynced; fi
    fi
    mkdir -p "$base"
    data=$base/data
    log=$base/postgres.log
}

# The programs of the version that created the data, or of the newest installed one for a new cluster.
programs() {
    local version=*
    if [ -f "$data/PG_VERSION" ]; then version=$(cat "$data/PG_VERSION"); fi
    bin=$(printf '%s\n' /usr/lib/postgresql/$version/bin | sort -V | tail -1)
    if [ ! -x "$bin/postgres" ] && command -v pg_config > /dev/null; then bin=$(pg_config --bindir); fi
    [ -x "$bin/postgres" ] || die "no PostgreSQL server of version $version is installed (apt-get install postgresql)"
}

server() { (cd / && "${as_server[@]}" "$@"); }

is_ready() { "$bin/pg_isready" --quiet --host "$sockets" --username postgres; }

make_sockets() {
    mkdir -m 700 "$sockets" 2> /dev/null || true
    [ -d "$sockets" ] && [ ! -L "$sockets" ] || die "$sockets is not a folder"
    case $(stat -c %U "$sockets") in
        "$(id -un)" | "$server_user") ;;
        *) die "$sockets belongs to $(stat -c %U "$sockets"), not to $server_user" ;;
    esac
    [ "$(id -u)" -ne 0 ] || chown "$server_user" "$sockets"
}

# Created beside its final folder and moved when complete, so that an interrupted start leaves no partial cluster.
make_data() {
    echo "Making a PostgreSQL cluster in $data"
    rm -rf "$data.new"
    mkdir -m 700 "$data.new"
    [ "$(id -u)" -ne 0 ] || chown "$server_user" "$data.new" "$(dirname "$data")"
    server "$bin/initdb" --pgdata "$data.new" --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 \
        $([ "$sync" = on ] || echo --no-sync) \
        > "$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; die "initdb failed"; }
    mv "$data.new" "$data"
}

# Sized for two cores and part of 24 GiB. fsync is on by default: the demo and the benchmarks show durable writes.
settings() {
    cat << END
listen_addresses = ''
port = 5432
unix_socket_directories = '$sockets'
unix_socket_permissions = 0700
max_connections = 400
max_prepared_transactions = 10
shared_buffers = 512MB
max_wal_size = $([ "$sync" = on ] && echo 4GB || echo 1GB)
wal_compression = on
fsync = $sync
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %q%a %d '
END
}

# After a crash, the lock files may name a dead process or an unrelated one. They may be deleted only if no process of
# the old server uses the data: the folder is the working folder of each.
delete_stale_locks() {
    local pid rest process
    pid=$(head -n 1 "$data/postmaster.pid" 2> /dev/null || true)
    [ -z "$pid" ] || [ ! "/proc/$pid/cwd" -ef "$data" ] || return 0
    for _ in $(seq 100); do
        # Compared by inode and not by path: in another mount namespace, the same path may be another folder.
        rest=0
        for process in /proc/[0-9]*/cwd; do
            [ ! "$process" -ef "$data" ] || rest=$((rest + 1))
        done
        [ "$rest" -gt 0 ] || { rm -f "$data/postmaster.pid" "$sockets"/.s.PGSQL.*; return 0; }
        sleep 0.1
    done
    die "processes of a killed server still work in $data"
}

start() {
    make_folder
    programs
    if [ -d "$data" ] && is_ready; then return 0; fi
    make_sockets
    [ -f "$data/PG_VERSION" ] || make_data
    [ "$(stat -c %U "$data")" = "$server_user" ] \
        || die "$data belongs to $(stat -c %U "$data"): start it as that user, or remove it"
    settings | server tee "$data/errand.conf" > /dev/null
    grep -q "^include 'errand.conf'" "$data/postgresql.conf" \
        || echo "include 'errand.conf'" | server tee -a "$data/postgresql.conf" > /dev/null
    delete_stale_locks
    if [ -f "$log" ] && [ "$(stat -c %s "$log")" -gt 20000000 ]; then mv "$log" "$log.old"; fi
    # Without the lock's file descriptor: a server that outlives this script would hold the lock.
    server "$bin/pg_ctl" start --wait --timeout 120 --silent --pgdata "$data" --log "$log" 9>&- \
        || { tail -n 20 "$log" >&2; die "PostgreSQL does not start; its log is $log"; }
    local query="select 1 from pg_database where datname = 'errand'"
    if [ -z "$("$bin/psql" -X -h "$sockets" -U postgres -d postgres -Atc "$query")" ]; then
        "$bin/createdb" -h "$sockets" -U postgres errand
    fi
}

stop() {
    make_folder
    [ -f "$data/postmaster.pid" ] || return 0
    programs
    delete_stale_locks
    [ -f "$data/postmaster.pid" ] || return 0
    server "$bin/pg_ctl" stop --wait --timeout 60 --silent --mode fast --pgdata "$data" \
        || server "$bin/pg_ctl" stop --wait --timeout 60 --silent --mode immediate --pgdata "$data"
}

drop() {
    for sync in off on; do
        stop
        rm -rf "$(dirname "$data")"
    done
    rm -rf "$folder" "$sockets"
}

url() { echo "postgresql:///${1:-errand}?host=$sockets&port=5432&user=postgres"; }

# The command has its own process group, so a signal to this script ends all of its processes before the server stops.
with() {
    mkdir -p "$folder"
    exec 9> "$folder/lock"
    flock --nonblock 9 || die "another command uses $folder just now"
    trap 'stop; [ "$sync" = on ] || rm -rf "$data"' EXIT
    start
    ERRAND_CLUSTER_URL=$(url)
    export ERRAND_CLUSTER_URL
    set -m
    "$@" < /dev/null 9>&- &
    local child=$! code=0 signalled=no
    set +m
    trap 'signalled=yes; kill -TERM -- "-$child" 2> /dev/null || true' INT TERM HUP
    # A signal interrupts `wait` before the command exits: wait again.
    while :; do
        signalled=no code=0
        wait "$child" || code=$?
        [ "$signalled" = yes ] || break
    done
    exit "$code"
}

case $action in
    start) start ;;
    stop) stop ;;
    drop) drop ;;
    url) url "$@" ;;
    with) [ $# -ge 1 ] || die "with DIR needs a command"; with "$@" ;;
    *) die "no such action: $action" ;;
esac
