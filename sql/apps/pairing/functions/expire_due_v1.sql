-- expire_due_v1: marks the next invites that have expired, in the order of their expiry.
--
-- Starts after the given expiry and id, and returns the number of marked invites and the last one's expiry and id. A
-- caller that passes these on reads no row twice, even while an old snapshot keeps the marked ones in the index. An
-- invite that is being redeemed is left for the next run. marked is less than max_invites if no more are due.
create or replace function pairing.expire_due_v1(
    after timestamptz default '-infinity', after_id bigint default 0, max_invites int default 5000
) returns table (marked int, through timestamptz, through_id bigint)
language sql security definer set search_path = pg_catalog, pairing, pg_temp as $$
    with due as (
        select id, expires_at
        from pairing.invite
        where state = 'live' and expires_at <= now()
            and (expires_at, id) > (expire_due_v1.after, expire_due_v1.after_id)
        order by expires_at, id
        limit max_invites
        for update skip locked
    ),
    expired as (
        update pairing.invite
        set state = 'expired', ended_at = now()
        -- By an array: for a join the planner would expect a tenth of the table, and read all of it for every set.
        where id = any (array(select id from due))
        returning id
    )
    select (select count(*) from expired)::int, last.expires_at, last.id
    from (select) as always
    left join (select expires_at, id from due order by expires_at desc, id desc limit 1) as last on true
$$;
