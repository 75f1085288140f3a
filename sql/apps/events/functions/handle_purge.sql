-- handle_purge: the handler of the kind event_purge. Purges the events whose days are over, one a call, so that a
-- failed attempt keeps its progress; several jobs purge different events. The job object_removal removes their objects.
--
-- Rows are deleted on time even if the store is down: the list of objects to remove commits with them. The output is
-- {events, photos, are_objects_due}: whether objects wait to be removed, from this run or an earlier one.
-- errand: after purge_due_v1
create or replace function events.handle_purge(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    gone constant int := coalesce((state ->> 'events')::int, 0);
    gone_photos constant int := coalesce((state ->> 'photos')::int, 0);
    purged record;
begin
    select * into purged from events.purge_due_v1();
    if found then
        return errand.outcome_again(jsonb_build_object('events', gone + 1, 'photos', gone_photos + purged.photos));
    end if;
    return errand.outcome_done(jsonb_build_object(
        'events', gone, 'photos', gone_photos, 'are_objects_due', media.enqueue_removals_v1()));
end
$$;
