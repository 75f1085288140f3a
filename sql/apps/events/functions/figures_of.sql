-- figures_of: returns the figures of an event to its host.
--
--   select photos, participants, active_participants from events.figures_of('6c1d…', 'user-17');
--
-- photos is the number of all photos, with those of participants who have left; delivered that of those in the store;
-- failed that of those that can't be compressed. active_participants is the number of participants with a photo that
-- has not failed. No row for another user, and if there is no such event. Raises ER422 without a user.
create or replace function events.figures_of(event_id uuid, user_id text)
returns table (
    photos int, delivered int, failed int, participants int, active_participants int, last_photo_at timestamptz
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand.check_user('figures_of', $2);
    return query
    select
        count(status.id)::int, (count(*) filter (where status.state = 'delivered'))::int,
        (count(*) filter (where status.state = 'failed'))::int,
        (select count(*) from events.participant where participant.event_id = $1)::int,
        (count(distinct person.user_id) filter (where status.state <> 'failed'))::int, max(known.added_at)
    from events.event
    left join events.photo as known on known.event_id = event.id
    left join media.photo_status as status on status.id = known.photo
    left join events.participant as person on person.event_id = event.id and person.user_id = known.user_id
    where event.id = $1 and event.host = $2
    group by event.id;
end
$$;
comment on function events.figures_of(uuid, text) is
    'Returns the figures of an event to its host. Example: select photos, active_participants from '
    'events.figures_of(''6c1d…'', ''user-17'')';
