-- delete_photo: deletes a photo from an event, on behalf of its owner or of the event's host: its rows at once, its
-- objects within seconds of the commit. A running compression or upload of it has no effect. An archive of the event is
-- removed too: the next call of events.archive makes one without the photo. Its owner may add another photo instead.
--
--   select events.delete_photo('9f0e…', 'user-18');
--
-- Returns deleted; not_yours; no_photo if there is none any more. Raises ER422 without a user; above READ COMMITTED,
-- 40001 if the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.delete_photo(photo uuid, user_id text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    existing events.event;
    owner text;
begin
    perform errand_internal.check_user('delete_photo', $2);
    select * into existing
    from events.event
    where id = (select event_id from events.photo where photo = $1)
    for no key update;
    select user_id into owner from events.photo where photo = $1;
    if owner is null then
        return 'no_photo';
    elsif $2 not in (owner, existing.host) then
        return 'not_yours';
    end if;
    perform events.remove_archives(
        array(select id from events.archive where event_id = existing.id), 'a photo in it was deleted');
    perform media.remove_photos(
        array[$1], case $2 when owner then 'its owner has deleted the photo' else 'the host has deleted the photo' end);
    update events.event set changes = changes + 1 where id = existing.id;
    -- Without a unique key: with one, all who delete would wait for each other's commit.
    perform errand.enqueue('object_removal');
    return 'deleted';
end
$$;
