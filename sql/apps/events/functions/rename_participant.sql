-- rename_participant: changes the name that others see in an event; null removes it.
--
--   select events.rename_participant('6c1d…', 'user-18', 'Benjamin');
--
-- Returns renamed; not_joined; no_event. Raises ER422 without a user, and for a name that is not 1 to 100 characters
-- long.
-- errand: for enqueuer, ops
create or replace function events.rename_participant(event_id uuid, user_id text, name text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('rename_participant', $2);
    perform events.check_name('rename_participant', $3);
    perform from events.event where id = $1 for key share;
    if not found then
        return 'no_event';
    end if;
    update events.participant set name = $3 where event_id = $1 and user_id = $2;
    if not found then
        return 'not_joined';
    end if;
    perform events.tell($1, 'participant_renamed');
    return 'renamed';
end
$$;
