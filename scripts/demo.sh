#!/usr/bin/env bash
# demo.sh: enqueues the six jobs of a running service on real photos, by the SQL calls of an app's server, and shows
# them.
#
# DATABASE_URL names the database. The service runs with ERRAND_PUSH=log, or with a key of Apple's. The photos are from
# Debian's package mate-backgrounds; /usr/share/doc/mate-backgrounds/copyright names their authors and licences. The
# demo takes less than two minutes: it shortens times of hours and days, and says so.
set -euo pipefail
. "$(dirname "$0")/environment.sh"

from=/usr/share/backgrounds/mate
photos=(
    nature/Storm.jpg nature/TwoWings.jpg nature/Dune.jpg nature/Blinds.jpg nature/RainDrops.jpg
    abstract/Elephants.jpg abstract/Elephants_3840x2160.jpg abstract/Elephants_5640x3172.jpg
)
names=("${photos[@]##*/}")
run=$(date -u +%Y%m%d-%H%M%S)        # a key is never reused
timeout=60                           # seconds to wait for each step

# sql TEXT [NAME=VALUE...]: runs TEXT with variables of psql; a value that begins with ` is a command's output.
sql() {
    local text=$1 pair
    shift
    {
        for pair in "$@"; do printf '\\set %s %s\n' "${pair%%=*}" "${pair#*=}"; done
        printf '%s\n' "$text"
    } | psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$DATABASE_URL"
}

# hand_over PHOTO KEY: passes the bytes of a photo in SQL; prints the id of its upload.
hand_over() {
    sql "select media.submit_upload(:'key', decode(:'bytes', 'base64'), owner => 'demo');" \
        "key='$2'" "bytes=\`base64 --wrap 0 '$from/$1'\`"
}

# until_true CONDITION WHAT: waits until the condition is true, or fails after the timeout.
until_true() {
    for _ in $(seq $((timeout * 10))); do
        [ "$(sql "select $1;")" != t ] || return 0
        sleep 0.1
    done
    echo "Not done after $timeout s: $2" >&2
    return 1
}

title() { printf '\n%s\n' "$1"; }
indent() { sed 's/^/    /'; }

echo "Six jobs at work. Shortened for this demonstration: an invite lives 5 s instead of 24 h, a Live Activity 10 s instead of"
echo "8 h, and an event is purged whose end is put 8 days back."

invite=$(sql "select code from pairing.create_invite('demo');")
sql "update pairing.invite set expires_at = clock_timestamp() + interval '5 s' where code = '$invite';"
activity=$(sql "select activity_id from activity.start_demo(ends_in => '10 s');")
sql "select ok from activity.update('$activity', 'The message has changed.');" > /dev/null
event=$(sql "select events.create('anna', 'Demo party');")
sql "select events.join('$event', 'ben');" > /dev/null

title "UploadRetry: the bytes of ${#photos[@]} photos are handed over in SQL, as where an app's own upload has failed"
echo
echo "    select media.submit_upload('uploads/$run/${names[0]}', '\\xffd8…')"
echo
for photo in "${photos[@]}"; do hand_over "$photo" "uploads/$run/${photo##*/}" > /dev/null; done
hand_over "${photos[0]}" "events/$event/${names[0]}" > /dev/null
mine="owner = 'demo' and (key like 'uploads/$run/%' or key like 'events/$event/%')"
until_true "not exists (select from media.upload_status where $mine and delivered_at is null)" "uploads" \
    || { sql "select key, state, error from media.upload_status where $mine and delivered_at is null;" >&2; exit 1; }
sql "
    select format('%s of %s are in the store, %s MB; the last %s ms after it was handed over',
        count(delivered_at), count(*), round(sum(size) / 1e6, 1), round(1000 * extract(epoch from
            (array_agg(delivered_at - staged_at order by staged_at desc))[1])))
    from media.upload_status where $mine;" | indent

title "ImageCompression: each below 500,000 bytes, and stored"
echo
echo "    select media.submit('uploads/$run/${names[0]}')"
echo
ids=$(sql "select quote_literal(media.submit('uploads/$run/' || name))
    from unnest(string_to_array('${names[*]}', ' ')) as name;" | paste -s -d ,)
added=$(sql "select status from events.add_photo('$event', 'ben', 'events/$event/${names[0]}');")
[ "$added" = added ] || { echo "events.add_photo: $added" >&2; exit 1; }

# One row per photo: name, bytes before, bytes after, ratio, size, quality, encodes, milliseconds.
line="    %-26s %10s %8s %5s %10s %8s %8s %6s\n"
printf "$line" PHOTO BEFORE AFTER LEFT PIXELS QUALITY ENCODES MS
shown=0 since=-infinity
for _ in $(seq $((timeout * 10))); do
    while IFS='|' read -r at name row; do
        [ -n "$at" ] || continue
        IFS='|' read -r before after left pixels quality encodes ms <<< "$row"
        printf "$line" "$name" "$before" "$after" "$left" "$pixels" "$quality" "$encodes" "$ms"
        shown=$((shown + 1)) since=$at
    done < <(sql "
        select delivered_at, regexp_replace(source_key, '.*/', ''), source_bytes, bytes, percent || '%',
            width || 'x' || height, coalesce(quality::text, 'as is'), encodes, round(milliseconds)
        from media.photo_status
        where id in ($ids) and delivered_at > '$since'
        order by delivered_at;")
    [ "$shown" -lt ${#photos[@]} ] || break
    sleep 0.1
done
if [ "$shown" -lt ${#photos[@]} ]; then
    echo "Not done after $timeout s:" >&2
    sql "select source_key, state, error from media.photo_status where id in ($ids) and state <> 'delivered';" >&2
    exit 1
fi

title "QuoteRotation: a quote for each calendar day, written ahead"
until_true "exists (select from quotes.quote_days where day = (now() at time zone 'UTC')::date + 7)" "the days ahead"
sql "
    select format('%s   %s: %s', day, author, text)
    from quotes.quote_days
    where day >= (now() at time zone 'UTC')::date
    order by day
    limit 3;" | sed -E 's/^(.{110}).+/\1…/' | indent
sql "select format('and the days until %s', max(day)) from quotes.quote_days;" | indent

title "ActivityEnd: the push that ends a Live Activity, sent when it is due (with ERRAND_PUSH=log: to the log and a table)"
until_true "exists (select from activity.activity_status where id = '$activity' and ended_at is not null)" "the activity"
sql "
    select format('%s   %s (%s)', to_char(at, 'HH24:MI:SS.MS'), what, reason)
    from activity.change_record where activity_id = '$activity' order by id;" | sed 's/ ()$//' | indent
sql "
    select format('its end was due at %s, and sent %s ms later by %s', to_char(due_at, 'HH24:MI:SS.MS'),
        round(1000 * extract(epoch from answered_at - due_at)), via)
    from activity.activity_status as held join activity.push_record on activity_id = held.id and event = 'end'
    where held.id = '$activity';" | indent

title "InviteExpiry: a code is dead to the second, and marked within 15 s"
until_true "exists (select from pairing.invite where code = '$invite' and ended_at is not null)" "the invite"
sql "
    select format('%s was valid until %s; redeemed now: %s; marked at %s', code, to_char(expires_at, 'HH24:MI:SS'),
        (select status from pairing.redeem_invite(code, 'carl')), to_char(ended_at, 'HH24:MI:SS'))
    from pairing.invite_status where code = '$invite';" | indent

title "EventPurge: an event with all of its photos, 8 days after its end"
until_true "not exists (select from events.event_photo_status where event_id = '$event' and state <> 'delivered')" \
    "the event's photo"
sql "
    select format('%s: %s participants, %s photo, %s objects in the store', title, participants, photos, 2 * photos)
    from events.event_status where id = '$event';" | indent
receipts=$(sql "select coalesce(max(id), 0) from media.receipt;")
sql "update events.event set starts_at = now() - interval '17 days', ends_at = now() - interval '8 days' where id = '$event';"
until_true "not exists (select from events.event where id = '$event')" "the event"
until_true "not exists (select from media.removal_status where receipt_id > $receipts and state <> 'confirming')" "its objects"
sql "
    select format('receipt %s: %s people, %s photo, %s objects removed; looked at once more in 90 s', id, people, photos,
        objects)
    from media.receipt_status where id > $receipts;" | indent
