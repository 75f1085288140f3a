# events.sh: a disposable camera, whose photos are revealed at a time and purged 8 days after its end.

show_events() {
    show_reveal
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
    until_sent 'The photos are here'
}

show_purge() {
    title "EventPurge: the event with all of its photos, 8 days after its end"
    until_true "not exists (select from events.event_photo_status where event_id = '$event' and state <> 'delivered')" \
        "the event's photo"
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
