#!/usr/bin/env bash
# failover.sh [NAME...]: fails PostgreSQL over under load, with Patroni, etcd and HAProxy, and counts what is lost.
#
# A NAME is a fault or a route: switchover, kill-primary, kill-patroni, kill-both, partition, no-quorum, lagging; hosts,
# haproxy. Needs root: all of it runs in namespaces of its own, and ends with this script. RATE=1000 enqueues so many
# jobs a second instead of 5,000. ERRAND is the program, by default the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/environment.sh

[ "$(id -u)" -eq 0 ] || { echo "failover.sh: only root can make network namespaces" >&2; exit 77; }
scripts/need.sh database failover
errand=${ERRAND:-}
if [ -z "$errand" ]; then
    scripts/need.sh build
    errand=$(scripts/release.sh)/errand
fi
# Readable by postgres, unlike a checkout in a home folder.
folder=$(mktemp -d /tmp/errand-failover-XXXXXX)
chmod 755 "$folder"
trap '[ -n "${KEEP:-}" ] || rm -rf "$folder"' EXIT
export PATH=$PATH:/usr/sbin
code=0
# The processes end with their namespace, whose first process is this shell: it reaps servers that have stopped. Debian's
# own Python: only it has the package python3-psycopg2.
unshare --net --pid --mount --fork --kill-child --mount-proc sh -c \
    'mkdir -p /run/netns && mount -t tmpfs none /run/netns; /usr/bin/python3 scripts/failover/run.py "$@"; exit $?' \
    failover.sh "$(realpath "$errand")" "$folder" "$@" || code=$?
exit "$code"
