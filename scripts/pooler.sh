#!/usr/bin/env bash
# pooler.sh COMMAND...: runs the command with a PgBouncer in transaction mode in front of the server of the tests.
#
# ERRAND_TEST_POOLER_URL tells the command the pooler, and ERRAND_TEST_DATABASE_URL the server itself. The latter also
# names the server for the pooler: one on this machine that trusts its socket. The pooler stops with the command, and
# the exit code is the command's.
set -euo pipefail
. "$(dirname "$0")/environment.sh"

[ $# -ge 1 ] || { sed -n '2s/^# //p' "$0" >&2; exit 64; }
server=${ERRAND_TEST_DATABASE_URL:=${ERRAND_CLUSTER_URL:?expected the URL of a server}}
ask() { psql --no-psqlrc --tuples-only --no-align --command "$1" "$server"; }

bouncer=$(PATH=$PATH:/usr/sbin command -v pgbouncer)
as_user=()
user=$(id -un)
# PgBouncer refuses to run as root, like PostgreSQL.
if [ "$(id -u)" -eq 0 ]; then
    user=postgres
    id "$user" > /dev/null 2>&1 || user=nobody
    as_user=(runuser -u "$user" --)
fi
folder=$(mktemp -d /tmp/errand-pooler-XXXXXX)
child=
trap '[ -z "$child" ] || { kill "$child" && wait "$child"; } 2> /dev/null || true; rm -rf "$folder"' EXIT

# Round robin gives nearly every transaction another session, so code that depends on a session's state fails. All other
# settings that affect correctness are PgBouncer's defaults, such as the refusal of `options`.
cat > "$folder/pgbouncer.ini" << END
[databases]
* = host=$(ask 'show unix_socket_directories') port=$(ask 'show port') user=$(ask 'select current_user')
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
server_round_robin = 1
default_pool_size = 20
max_client_conn = 2000
server_login_retry = 1
END
[ "$(id -u)" -ne 0 ] || chown -R "$user" "$folder"
ulimit -n "$(ulimit -H -n)"
"${as_user[@]}" "$bouncer" -q "$folder/pgbouncer.ini" > "$folder/log" 2>&1 &
child=$!

url="postgresql:///postgres?host=$folder&port=6432&user=$(ask 'select current_user')"
for _ in $(seq 100); do
    ! psql --no-psqlrc --command 'select 1' "$url" > /dev/null 2>&1 || break
    kill -0 "$child" 2> /dev/null || { cat "$folder/log" >&2; echo "pooler.sh: PgBouncer does not start" >&2; exit 69; }
    sleep 0.05
done
export ERRAND_TEST_DATABASE_URL=$server ERRAND_TEST_POOLER_URL=$url
code=0
"$@" || code=$?
exit "$code"
