# events.sh: a disposable camera, whose photos are revealed at a time and purged 8 days after its end.
# place: 7

show_events() {
    show_reveal
    show_code
    show_archive
    show_purge
}

show_reveal() {
    title "EventReveal: until the reveal only the photographer sees a photo, then everybody"
    show "select events.create('demo-anna', 'Demo party', reveal_at => now() + interval '1 day');"
    event=$last
    local key=events/$event/RainDrops.jpg
    local sees="select (select count(*) from events.photos_of(:'event', 'demo-anna')) as anna_sees,
    (select count(*) from events.photos_of(:'event', 'demo-ben')) as ben_sees;"
    hand_over nature/RainDrops.jpg "$key" demo-ben > /dev/null
    show "\\set event $event
select events.join(:'event', 'demo-ben');
select status, photos_left
from events.add_photo(:'event', 'demo-ben', 'events/' || :'event' || '/RainDrops.jpg');
select events.edit(:'event', 'demo-anna', reveal_at => now() + interval '3 s');
$sees"
    until_true "exists (select from events.event where id = '$event' and revealed_at is not null)" "the reveal"
    show "\\set event $event
$sees"
    sql "select format('told %s ms after the reveal:', round(1000 * extract(epoch from revealed_at - reveal_at)))
        from events.event_status where id = '$event';" | indent
    until_sent event_reveal
}

show_code() {
    title "EventCode: the QR code of a link to the event, to print or to show on a screen"
    show "select status, key from events.code('$event', 'https://example.com/join/$event');"
    until_true "exists (select from events.code_status where key = '$last' and state = 'stored')" "the QR code"
    say_stored "$last"
}

show_archive() {
    title "EventArchive: all photos of the event as one ZIP file"
    until_true "not exists (select from events.event_photo_status where event_id = '$event' and state <> 'delivered')" \
        "the event's photo"
    show "select events.archive('$event', 'demo-anna');"
    until_true "exists (select from events.archive_status('$event', 'demo-anna') where state = 'made')" "the archive"
    show "select photos, bytes, is_current, link_seconds > 86400 as has_link, key
from events.archive_status('$event', 'demo-anna');"
    indent <<< "in the store: $(place "$last")"
}

show_purge() {
    title "EventPurge: the event with all of its photos, its code and its archive, 8 days after its end"
    local receipts
    receipts=$(sql "select coalesce(max(id), 0) from media.receipt;")
    say_stored "$(sql "select result_key from events.photos_of('$event', 'demo-ben');")"
    sql "update events.event
        set starts_at = now() - interval '17 days', reveal_at = starts_at, ends_at = now() - interval '8 days'
        where id = '$event';"
    show "select title, state, participants, photos, purge_at <= now() as is_due
from events.event_status where id = '$event';"
    until_true "not exists (select from events.event where id = '$event')" "the event"
    until_true "not exists (select from media.removal_status where receipt_id > $receipts and state <> 'confirming')" \
        "its objects"
    show "select reason, people, photos, objects, objects_left
from media.receipt_status order by id desc limit 1;"
    indent <<< "The store is asked once more in 90 s, and then no object is left."
}
