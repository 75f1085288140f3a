-- create: creates an event, for 8 days by default. Its creator is the first participant.
--
--   select events.create('user-17', 'Summer party');
--   select events.create('user-17', 'A wedding', '2026-06-06 14:00+02', '2026-06-07 04:00+02', photos_each => 12);
--
-- Returns its id. Originals of its photos belong below `events/<event_id>/` in the object store. The event and its
-- photos are purged 8 days after its end. Raises ER422 without a user, for a title that is not 1 to 200 characters
-- long, for a start before 2000 or more than 2 years ahead, for an end before the start or more than a year after it,
-- and for limits out of bounds: photos_each 1 to 1,000, photos_in_all 1 to 20,000.
create or replace function events.create(
    user_id text,
    title text,
    starts_at timestamptz default null,
    ends_at timestamptz default null,
    photos_each int default 24,
    photos_in_all int default 5000
) returns uuid
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    made_event uuid;
    first_moment constant timestamptz := coalesce($3, clock_timestamp());
    last_moment timestamptz;
begin
    perform events.check_user('create', $1);
    if coalesce(length($2), 0) not between 1 and 200 then
        raise exception 'create: title: expected 1 to 200 characters, got %', coalesce(length($2)::text, 'null')
            using errcode = 'ER422';
    elsif first_moment not between timestamptz '2000-01-01 00:00+00' and clock_timestamp() + interval '17544 hours' then
        raise exception 'create: starts_at: expected 2000 to 2 years ahead, got %', first_moment
            using errcode = 'ER422';
    end if;
    -- In hours: a day in the session's time zone may have 23 or 25.
    last_moment := coalesce($4, first_moment + interval '192 hours');
    if last_moment <= first_moment or last_moment > first_moment + interval '8784 hours' then
        raise exception 'create: ends_at: expected up to a year after starts_at, %, got %', first_moment, last_moment
            using errcode = 'ER422';
    elsif $5 is null or $5 not between 1 and 1000 then
        raise exception 'create: photos_each: expected 1 to 1000, got %', coalesce($5::text, 'null')
            using errcode = 'ER422';
    elsif $6 is null or $6 not between 1 and 20000 then
        raise exception 'create: photos_in_all: expected 1 to 20000, got %', coalesce($6::text, 'null')
            using errcode = 'ER422';
    end if;
    insert into events.event as made (host, title, starts_at, ends_at, photos_each, photos_in_all)
    values ($1, $2, first_moment, last_moment, $5, $6)
    returning made.id into made_event;
    insert into events.participant (event_id, user_id) values (made_event, $1);
    return made_event;
end
$$;
comment on function events.create(text, text, timestamptz, timestamptz, int, int) is
    'Creates an event; returns its id. Example: select events.create(''user-17'', ''Summer party'')';
