-- end_now: ends an event early, on behalf of its host. No photo can be added from now on.
--
--   select events.end_now('6c1d…', 'user-17');
--
-- Returns ended; already_ended; not_started (delete it instead); not_host; no_event. The days until the purge count
-- from this end. If they count from the start and are over, the event is purged at once. A reveal that was planned for
-- the old end, or would come only after the purge, takes place now; any other stays where it is.
--
-- Raises ER422 without a user; above READ COMMITTED, 40001 if the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.end_now(event_id uuid, user_id text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    existing events.event;
    present timestamptz;
begin
    perform errand_internal.check_user('end_now', $2);
    select * into existing from events.event where id = $1 for no key update;
    present := clock_timestamp();
    if existing.id is null then
        return 'no_event';
    elsif existing.host <> $2 then
        return 'not_host';
    elsif present <= existing.starts_at then
        return 'not_started';
    elsif present >= existing.ends_at then
        return 'already_ended';
    end if;
    update events.event set ends_at = present, changes = changes + 1 where id = $1;
    if existing.reveal_at > present and (
        existing.reveal_at = existing.ends_at
        or existing.reveal_at >= (select purge_at from events.event_status where id = $1)
    ) then
        update events.event set reveal_at = present where id = $1;
        perform events.enqueue_reveal($1, present);
    end if;
    perform events.tell($1, 'edited');
    return 'ended';
end
$$;
