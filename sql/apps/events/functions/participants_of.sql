-- participants_of: returns the participants of an event to one of them, the host first and then by their joining.
--
--   select user_id, name, role, photos from events.participants_of('6c1d…', 'user-18');
--
-- role is host or guest. photos is the number of their photos. A user who is no participant gets no row. Raises ER422
-- without a user.
-- errand: for enqueuer, ops
create or replace function events.participants_of(event_id uuid, viewer text)
returns table (user_id text, name text, role text, photos int, joined_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('participants_of', $2);
    return query
    select
        person.user_id, person.name, case when person.user_id = event.host then 'host' else 'guest' end,
        (select count(*) from events.photo where photo.event_id = $1 and photo.user_id = person.user_id)::int,
        person.joined_at
    from events.event
    join events.participant as person on person.event_id = event.id
    where event.id = $1
        and exists (select from events.participant as other where other.event_id = $1 and other.user_id = $2)
    order by person.user_id <> event.host, person.joined_at, person.user_id;
end
$$;
