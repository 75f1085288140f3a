#!/usr/bin/env bash
# demo.sh: hands real photos to a service that runs, by one SQL call, and shows what became of them.
#
# DATABASE_URL says where. The photos are those of Debian's package mate-backgrounds; their authors and licences stand in
# /usr/share/doc/mate-backgrounds/copyright. They are read where they lie, and not changed.
set -euo pipefail

from=/usr/share/backgrounds/mate
photos=(
    nature/Storm.jpg nature/TwoWings.jpg nature/Dune.jpg nature/Blinds.jpg nature/RainDrops.jpg
    abstract/Elephants.jpg abstract/Elephants_3840x2160.jpg abstract/Elephants_5640x3172.jpg
)
patience=60             # seconds until a photo that is not done counts as a failure

sql() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$DATABASE_URL" "$@"; }
value() { sql --tuples-only --no-align --command "$1"; }

list=$(printf "'$from/%s'," "${photos[@]}")
call="select media.submit(photo) from unnest(array[${list%,}]) as photo"
echo "Handing ${#photos[@]} photos of Debian's package mate-backgrounds to Errand, in one SQL call:"
echo
echo "    select media.submit(photo) from unnest(array['$from/${photos[0]}', …]) as photo"
echo
ids=$(value "$call" | paste -s -d ,)

count_open="select count(*) from errand.job_status where id in ($ids) and state in ('scheduled', 'available', 'running')"
for _ in $(seq $((patience * 5))); do
    open=$(value "$count_open")
    [ "$open" -gt 0 ] || break
    sleep 0.2
done

# The share of the bytes that is left, and the quality that the encoder was given to stay below the limit.
sql --pset footer=off --command "
    select
        regexp_replace(payload->>'photo', '.*/', '') as photo,
        to_char((output->>'sourceBytes')::bigint, '999,999,999') as before,
        to_char((output->>'bytes')::bigint, '999,999,999') as after,
        round(100 * (output->>'bytes')::numeric / (output->>'sourceBytes')::numeric, 1) || ' %' as ratio,
        output->>'quality' as quality,
        round((output->>'milliseconds')::numeric) as milliseconds,
        state
    from errand.job_status
    where id in ($ids)
    order by (output->>'sourceBytes')::bigint, id"

done_well="select count(*) from errand.job_status where id in ($ids) and state = 'succeeded'"
if [ "$(value "$done_well")" -ne ${#photos[@]} ]; then
    sql --command "select id, state, attempt, reason, attempts from errand.job_status where id in ($ids) and state <> 'succeeded'" >&2
    exit 1
fi
