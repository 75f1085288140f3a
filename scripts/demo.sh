#!/usr/bin/env bash
# demo.sh [APP...]: shows the jobs of a running service on real input, by the SQL calls of an app's server.
#
#   scripts/demo.sh                    all apps
#   scripts/demo.sh devices moments    these two
#
# DATABASE_URL names the database, and STORAGE_URL the store. The service runs with ERRAND_PUSH=log,
# or with keys of Apple's or Google's. The photos are from Debian's package mate-backgrounds;
# /usr/share/doc/mate-backgrounds/copyright names their authors and licences.
#
# Each file of scripts/demo shows one app. Its function show_APP prints SQL that a reader can type, and the outcome from
# the database or the store. What takes a while is begun by begin_APP, before the first app is shown.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
cd "$(dirname "$0")/.."
for file in scripts/demo/*.sh; do . "$file"; done

apps=("$@")
# Each file says its place: those with long waits come late, and people, which erases all, last.
[ ${#apps[@]} -gt 0 ] || mapfile -t apps < <(grep -H '^# place: ' scripts/demo/*.sh | sort -t: -k3n | sed 's|.*/\(.*\)\.sh:.*|\1|')

cat << END
The jobs at work. Shortened for this demonstration: an invite lives 5 s instead of 24 h, a Live Activity 10 s instead of
8 h; an event is revealed after 3 s, and purged after its end was put 8 days back. Its users are demo-anna, demo-ben and
demo-carl: what an earlier demonstration has left of them is erased first. A result follows the SQL that it is of.
END
sql "select people.erase(id) from unnest('{demo-anna,demo-ben,demo-carl}'::text[]) as id;" > /dev/null
# The tokens are made up, so that no push reaches a stranger's phone.
sql "
    select devices.register('demo-anna', 'apns', repeat('aa', 32));
    select devices.register('demo-ben', 'apns', repeat('be', 32));
    select devices.register('demo-carl', 'fcm', 'demo-of-carl:APA91b');" > /dev/null
for app in "${apps[@]}"; do
    if declare -F "begin_$app" > /dev/null; then "begin_$app"; fi
done
for app in "${apps[@]}"; do "show_$app"; done
show_kinds
