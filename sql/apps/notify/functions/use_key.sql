-- use_key: takes a key for each person who has not had it within 30 days. Returns these persons.
--
-- In one order for all sessions, so that no two calls wait for each other.
create or replace function notify.use_key(key text, user_ids text[]) returns text[]
language sql set search_path = pg_catalog, notify, pg_temp as $$
    with taken as (
        insert into notify.once as existing (user_id, key, used_at)
        select id, use_key.key, clock_timestamp()
        from unnest(user_ids) as id
        order by id
        on conflict on constraint once_pkey do update
        set used_at = excluded.used_at
        where existing.used_at <= now() - interval '30 days'
        returning user_id
    )
    select coalesce(array_agg(user_id order by user_id), '{}') from taken
$$;
