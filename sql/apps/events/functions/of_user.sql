-- of_user: returns the events of a user, as host or guest, those that end last first, in pages.
--
--   select id, title, role, state, photos_left from events.of_user('user-18');
--   select id, title, role, state, photos_left from events.of_user('user-18', after => '6c1d…');
--
-- after is the id of the last event of the page before, most the size of a page. state is planned, live or ended.
-- photos_left is the number that the user may still add. Raises ER422 without a user, and for a page that isn't 1 to
-- 1,000 events.
-- errand: for enqueuer, ops
create or replace function events.of_user(user_id text, after uuid default null, most int default 100)
returns table (
    id uuid, title text, role text, state text, starts_at timestamptz, ends_at timestamptz, reveal_at timestamptz,
    is_revealed boolean, purge_at timestamptz, participants int, photos int, own_photos int, photos_left int
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('of_user', $1);
    perform events.check_page('of_user', $3);
    return query
    select
        status.id, status.title, case status.host when $1 then 'host' else 'guest' end, status.state,
        status.starts_at, status.ends_at, status.reveal_at, status.is_revealed, status.purge_at,
        status.participants::int, status.photos::int, own.photos,
        greatest(0, least(status.photos_each - own.counted, status.photos_in_all - status.photos::int))
    from events.participant as person
    join events.event_status as status on status.id = person.event_id
    cross join lateral (
        select count(*)::int as photos, (count(*) filter (where submitted.state <> 'failed'))::int as counted
        from events.photo as existing
        join media.photo as submitted on submitted.id = existing.photo
        where existing.event_id = status.id and existing.user_id = $1
    ) as own
    where person.user_id = $1
        and ($2 is null or (status.ends_at, status.id) < (
            select last.ends_at, last.id from events.event as last where last.id = $2))
    order by status.ends_at desc, status.id desc
    limit $3;
end
$$;
