-- join: makes a user a participant of an event.
--
--   select events.join('6c1d…', 'user-18', name => 'Ben');
--
-- Returns joined; already_joined, with the name that was given first (see events.rename_participant); excluded by the
-- host (see events.exclude); ended; no_event if there is none or it was purged. A user may join before the start.
-- Raises ER422 without a user, and for a name that is not 1 to 100 characters long.
-- errand: for enqueuer, ops
create or replace function events.join(event_id uuid, user_id text, name text default null) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    existing events.event;
begin
    perform errand_internal.check_user('join', $2);
    perform events.check_name('join', $3);
    -- Waits for a running purge, and then finds no event.
    select * into existing from events.event where id = $1 for key share;
    if not found then
        return 'no_event';
    elsif exists (select from events.participant where event_id = $1 and user_id = $2) then
        return 'already_joined';
    elsif exists (select from events.exclusion where event_id = $1 and user_id = $2) then
        return 'excluded';
    elsif existing.ends_at <= clock_timestamp() then
        return 'ended';
    end if;
    insert into events.participant (event_id, user_id, name) values ($1, $2, $3)
    on conflict on constraint participant_pkey do nothing;
    if not found then
        return 'already_joined';
    end if;
    perform events.tell($1, 'joined');
    return 'joined';
end
$$;
