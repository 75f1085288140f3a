-- leave: removes a user from an event. The user's photos stay unless with_photos is true.
--
--   select status, photos from events.leave('6c1d…', 'user-18');
--   select status, photos from events.leave('6c1d…', 'user-18', with_photos => true);
--
-- status is left, with the number of deleted photos; not_joined; no_event. With the photos, an archive of the event is
-- removed too. A push that waits is withdrawn. Photos that stayed count if the user joins again. Raises ER422 without a
-- user; above READ COMMITTED, 40001 if the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.leave(event_id uuid, user_id text, with_photos boolean default false)
returns table (status text, photos int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    own uuid[];
begin
    perform errand_internal.check_user('leave', $2);
    photos := 0;
    perform from events.event where id = $1 for no key update;
    if not found then
        status := 'no_event';
        return next;
        return;
    end if;
    delete from events.participant where event_id = $1 and user_id = $2;
    status := case when found then 'left' else 'not_joined' end;
    perform notify.withdraw($2, 'event-' || $1);
    update events.event set changes = changes + 1 where id = $1;
    if $3 then
        select array_agg(photo) into own from events.photo where event_id = $1 and user_id = $2;
        if own is not null then
            perform events.remove_archives(
                array(select id from events.archive where archive.event_id = $1), 'photos in it were deleted');
            perform media.remove_photos(own, 'its owner has left the event');
            perform errand.enqueue('object_removal');
            photos := cardinality(own);
        end if;
    end if;
    return next;
end
$$;
