#!/usr/bin/env bash
# invites.sh [DUE]: how long after its time an invite is marked when a million are due at once, and what redemptions notice.
#
# On a cluster of its own below .errand/: `errand run`, DUE (1000000) invites that become due at the same moment, and RATE
# (200) redemptions of other ones a second. Fails where marking takes over 60 s or the 99th percentile of the redemptions is
# over 50 ms.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/environment.sh

due=${1:-1000000}
rate=${RATE:-200}
cluster=.errand/invites
scripts/need.sh build database
errand=$(scripts/release.sh)/errand
scripts/cluster.sh start "$cluster"
work=$(mktemp -d)
children=()
finish() {
    [ ${#children[@]} -eq 0 ] || kill "${children[@]}" 2> /dev/null || true
    wait || true
    rm -rf "$work"
    scripts/cluster.sh stop "$cluster"
}
trap finish EXIT
admin=$(scripts/cluster.sh url "$cluster" postgres)
DATABASE_URL=$(scripts/cluster.sh url "$cluster" invites)
export DATABASE_URL
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }
pgbench=$(printf '%s\n' "$(command -v pgbench || true)" /usr/lib/postgresql/*/bin/pgbench | grep -v '^$' | sort -V | tail -1)

psql "$admin" -c "drop database if exists invites with (force)" -c "create database invites"
"$errand" migrate --apps pairing > /dev/null
echo "Making $due invites that will be due at once, and 200000 that stay"
psql "$DATABASE_URL" -v due="$due" << 'END'
create function public.code(sign text, n bigint) returns text language sql immutable as $$
    select sign || translate(lpad(to_hex(n), 5, '0'), '01abcdef', 'ZYABCDEF')
$$;
insert into pairing.invite (created_at, expires_at, code, inviter)
select now(), now() + interval '24 hours', public.code('H', n), 'inviter-' || n
from generate_series(1, 200000) as n;
-- In an order that has nothing to do with their codes.
insert into pairing.invite (created_at, expires_at, code, inviter)
select now(), now() + interval '100 s', public.code('J', n::bigint * 7919 % 1048576), 'due-' || n
from generate_series(1, least(:due, 1048575)) as n;
vacuum analyze;
checkpoint;
END
echo "load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg)"
"$errand" run > "$work/errand.log" 2>&1 &
children+=($!)
cat > "$work/redeem.sql" << 'END'
\set n random(1, 200000)
select status from pairing.redeem_invite(public.code('H', :n), 'guest-' || :n || '-' || :client_id);
END
(cd "$work" && exec "$pgbench" -n -c 8 -R "$rate" -T 300 -l -f redeem.sql "$DATABASE_URL" > pgbench.log 2>&1) &
bench=$!
children+=("$bench")

left=1
while [ "$left" -gt 0 ]; do
    sleep 0.5
    left=$(psql "$DATABASE_URL" -c "
        select count(*) from (select from pairing.invite where state = 'live' and code like 'J%' limit 1) as one")
done
psql "$DATABASE_URL" -c "
    select format('marked %s invites, the last %s s after its time', count(*), round(extract(epoch from max(ended_at - expires_at)), 1))
    from pairing.invite where state = 'expired'"
window=$(psql "$DATABASE_URL" -c "
    select extract(epoch from min(expires_at)), extract(epoch from max(ended_at)) from pairing.invite where state = 'expired'" |
    tr '|' ' ')
kill -INT "$bench" || true
wait "$bench" || true
# Its log: client, transaction, microseconds with the wait for its start, script, second, microsecond, that wait.
read -r from to <<< "$window"
cat "$work"/pgbench_log.* | awk -v from="$from" -v to="$to" '$5 >= from && $5 <= to { print ($3 - $7) / 1000 }' | sort -n |
    awk '{ ms[NR] = $1 } END {
        printf "redemptions meanwhile: %d, p50 %.1f ms, p99 %.1f ms, longest %.1f ms\n",
            NR, ms[int(NR * 0.5)], ms[int(NR * 0.99)], ms[NR]
        exit ms[int(NR * 0.99)] > 50 }'
psql "$DATABASE_URL" -c "
    select 1 / (max(ended_at - expires_at) <= interval '60 s')::int from pairing.invite where state = 'expired'" > /dev/null
