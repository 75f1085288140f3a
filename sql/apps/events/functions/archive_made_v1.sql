-- archive_made_v1: records that the store has an archive, in the transaction that completes the job, and lists earlier
-- archives of the event for removal. Returns false if the archive was removed.
create or replace function events.archive_made_v1(archive uuid, photos int, missing int, bytes bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    event uuid;
    earlier uuid[];
begin
    select its_event.id into event
    from events.event as its_event
    where its_event.id = (select event_id from events.archive as existing where existing.id = $1)
    for no key update;
    update events.archive as existing
    set made_at = clock_timestamp(), photos = $2, missing = $3, bytes = $4
    where existing.id = $1;
    if not found then
        return false;
    end if;
    earlier := array(select existing.id from events.archive as existing where existing.event_id = event
        and existing.id <> $1);
    if earlier <> '{}' then
        perform events.remove_archives(earlier, 'a newer archive is made');
        perform errand.enqueue('object_removal');
    end if;
    perform events.tell(event, 'archive_made');
    return true;
end
$$;
