-- archive_to_make_v1: returns the photos of an archive that is to be made, in the order in which they were added, and
-- records which they are.
--
-- archive_key is the key of the archive, result_key that of a photo, name that of its owner in the event, if there is
-- one. No row if the archive is made or removed, if its photos are hidden again, and if it has none.
create or replace function events.archive_to_make_v1(archive uuid)
returns table (archive_key text, result_key text, name text, added_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    event uuid;
begin
    -- The event first, as in all functions: the photos don't change between the digest and the list.
    select its_event.id into event
    from events.event as its_event
    where its_event.id = (select event_id from events.archive as existing where existing.id = $1)
    for no key update;
    update events.archive as existing
    set contents = events.archive_contents(event)
    where existing.id = $1 and events.archive_is_wanted_v1($1);
    if not found then
        return;
    end if;
    return query
    select existing.key, status.result_key, person.name, taken.added_at
    from events.archive as existing
    join events.photo as taken on taken.event_id = existing.event_id
    join media.photo_status as status on status.id = taken.photo
    left join events.participant as person on person.event_id = taken.event_id and person.user_id = taken.user_id
    where existing.id = $1 and status.state = 'delivered'
    order by taken.added_at, taken.photo;
end
$$;
