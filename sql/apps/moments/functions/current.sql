-- current: returns the moment that a user's device shows: the newest of the partner that is stored. For a device that
-- was offline.
--
--   select moment_id, photo_key from moments.current('user-18');
--
-- Each of a pair has one current moment. So what a user sends changes nothing here. There is no row if the partner has
-- sent none, and if the user is in no pair.
-- errand: for enqueuer, ops
create or replace function moments.current(user_id text)
returns table (
    moment_id uuid, pair_id uuid, sender text, photo_key text, bytes bigint, width int, height int, sent_at timestamptz,
    current_at timestamptz
)
language sql stable security definer set search_path = pg_catalog, moments, pg_temp as $$
    select
        newest.id, newest.pair_id, newest.sender, photo.result_key, photo.bytes, photo.width, photo.height,
        newest.sent_at, newest.current_at
    from pairing.partner_of(current.user_id) as mine
    cross join lateral (
        select * from moments.moment as existing
        where existing.pair_id = mine.pair_id and existing.sender = mine.partner and existing.current_at is not null
        order by existing.number desc
        limit 1
    ) as newest
    join media.photo on photo.id = newest.id
$$;
