-- figures_of: returns the figures of an event to its host.
--
--   select photos, participants, active_participants from events.figures_of('6c1d…', 'user-17');
--
-- They are those of events.event_figures. No row for another user, and if there is no such event. Raises ER422 without
-- a user.
-- errand: for enqueuer, ops
create or replace function events.figures_of(event_id uuid, user_id text)
returns table (
    photos int, delivered int, failed int, participants int, active_participants int, last_photo_at timestamptz
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('figures_of', $2);
    return query
    select
        existing.photos::int, existing.delivered::int, existing.failed::int, existing.participants::int,
        existing.active_participants::int, existing.last_photo_at
    from events.event_figures as existing
    where existing.id = $1 and existing.host = $2;
end
$$;
