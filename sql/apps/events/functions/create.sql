-- create: creates an event, for 8 days by default. Its creator, the host, is the first participant.
--
--   select events.create('user-17', 'Summer party');
--   select events.create('user-17', 'A wedding', '2026-06-06 14:00+02', '2026-06-07 04:00+02', photos_each => 12);
--   select events.create('user-17', 'A wedding', reveal_at => '2026-06-08 18:00+02');
--   select events.create('user-17', 'A wedding', keep_original => true, max_edge => 4096, kept_days => 30);
--
-- With a reveal_at, a participant sees only the own photos until then: see events.photos_of. At that time the
-- participants are told.
--
-- host_name is the name that the other participants see.
--
-- keep_original, qualities and max_edge are what media.submit takes, for each photo that is added. The result has less
-- than 500,000 bytes whatever they are: if not even the lowest quality fits, it has fewer pixels, and below 1,600 a
-- lower quality. kept_days is the number of days of 24 hours from the end until the purge, or from the start:
-- events.event_status.purge_at says when.
--
-- Returns its id. Originals of its photos belong below `events/<event_id>/` in the object store. The event and its
-- photos are purged kept_days after its end. Raises ER422 without a user, for a title that is not 1 to 200 characters
-- long, for a start before 2000 or more than 2 years ahead, for an end before the start or more than a year after it,
-- for limits out of bounds (photos_each 1 to 1,000, photos_in_all 1 to 20,000), for options out of bounds (qualities
-- within 1 to 100, max_edge 16 to 16,384, kept_days 1 to 30), for a reveal before the start or not before the purge,
-- and for a host_name that is not 1 to 100 characters long.
-- errand: for enqueuer, ops
create or replace function events.create(
    user_id text,
    title text,
    starts_at timestamptz default null,
    ends_at timestamptz default null,
    photos_each int default 24,
    photos_in_all int default 5000,
    reveal_at timestamptz default null,
    host_name text default null,
    keep_original boolean default false,
    qualities int4range default '[72,100]',
    max_edge int default 2560,
    kept_days int default 8
) returns uuid
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    made_event uuid;
    first_moment constant timestamptz := coalesce($3, clock_timestamp());
    -- A start out of range must reach the check.
    last_moment constant timestamptz := coalesce(
        $4, least(first_moment, timestamptz '9999-01-01 00:00+00') + interval '192 hours');
begin
    perform errand_internal.check_user('create', $1);
    perform events.check_name('create', $8);
    perform events.check_event('create', $2, first_moment, last_moment, $5, $6, $7, $9, $10, $11, $12);
    insert into events.event as made (
        host, title, starts_at, ends_at, photos_each, photos_in_all, reveal_at, keep_original, qualities, max_edge,
        kept_days)
    values ($1, $2, first_moment, last_moment, $5, $6, $7, $9, $10, $11, $12)
    returning made.id into made_event;
    insert into events.participant (event_id, user_id, name) values (made_event, $1, $8);
    if $7 is not null then
        perform events.check_reveal('create', made_event);
        perform events.enqueue_reveal(made_event, $7);
    end if;
    return made_event;
end
$$;
