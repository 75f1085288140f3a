#!/usr/bin/env bash
# times.sh URL: how long each status view of a database takes: in a fresh session, and the median of 5 more, in ms.
#
# The exit code is 1 if a median is over 50 ms, including planning, execution and transfer.
set -euo pipefail
url=$1
psql() { command psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

queries=()
for view in queues kinds workers schedules failures stuck overdue circuits \
    limits table_health horizon_blockers maintenance_status; do
    queries+=("select * from errand.$view")
done
queries+=("select * from errand.audit limit 100" "select * from errand.health()" "select * from errand.metrics()")
some() { psql "$url" -c "select id from $1 order by random() limit 1"; }
job=$(some "(select id from errand.job where queue_position is not null limit 100000) as found")
ended=$(some "(select id from errand.history limit 100000) as found")
queries+=("select * from errand.jobs where id = $job" "select * from errand.jobs where id = $ended")
queries+=("select * from errand.explain($job)" "select * from errand.explain($ended)")

over=0
printf '%10s %10s  %s\n' first median query
psql "$url" -c "select errand_internal.update_statistics()" > /dev/null
for query in "${queries[@]}"; do
    times=$(printf '\\timing on\n\\o /dev/null\n%s;\n%s;\n%s;\n%s;\n%s;\n%s;\n' "$query" "$query" "$query" "$query" "$query" "$query" \
        | psql "$url" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p')
    first=$(head -n 1 <<< "$times")
    median=$(tail -n 5 <<< "$times" | sort -n | sed -n 3p)
    mark=
    if [ "$(printf '%.0f' "$median")" -gt 50 ]; then over=1 mark='  over 50 ms'; fi
    printf '%10s %10s  %s%s\n' "$first" "$median" "$query" "$mark"
done
psql "$url" -c "select format('%10s %10s  refresh of statistics (maintenance, every 5 s at most)', round(took_ms::numeric, 3), '')
    from errand.maintenance_task where name = 'statistics'"
exit "$over"
