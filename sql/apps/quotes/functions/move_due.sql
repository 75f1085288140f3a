-- move_due: moves the next subscriptions that are due to their next day. Returns the users to push to, in one row for
-- each local day and end of delivery.
--
-- The arguments are those of quotes.send_due_v1; each row has the number of all moved subscriptions, and the last one's
-- moment and id. No row if none is due; users is null for days that are left out.
--
-- The arithmetic is done once for each time zone and local time, of which one minute has few.
-- errand: after due_push
create or replace function quotes.move_due(
    max_subscriptions int, after timestamptz, after_id bigint, at_time timestamptz
) returns table (day date, not_after timestamptz, users text[], taken int, through timestamptz, through_id bigint)
language plpgsql
set search_path = pg_catalog, quotes, pg_temp
-- A plan for 5,000 known rows would read the whole table, and one with a nested loop all rows for each time zone.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_nestloop = off set jit = off
as $$
#variable_conflict use_column
declare
    row_ids tid[];
    times timestamptz[];
    ids bigint[];
begin
    select
        array_agg(row_id order by next_at, id), array_agg(next_at order by next_at, id),
        array_agg(id order by next_at, id)
    into row_ids, times, ids
    from (
        select existing.ctid as row_id, existing.next_at, existing.id
        from quotes.subscription as existing
        where existing.next_at <= move_due.at_time
            and (existing.next_at, existing.id) > (move_due.after, move_due.after_id)
        order by existing.next_at, existing.id
        limit max_subscriptions
        for update skip locked
    ) as locked;
    taken := coalesce(cardinality(ids), 0);
    through := times[taken];
    through_id := ids[taken];
    return query
    with decided as materialized (
        select
            push.*, decision.day, decision.not_after, decision.next_day as then_day, decision.next_at as then_at
        from (
            select distinct local_time, time_zone, next_day, next_at from quotes.subscription where ctid = any (row_ids)
        ) as push
        cross join lateral quotes.due_push(
            push.local_time, push.time_zone, push.next_day, push.next_at, move_due.at_time) as decision
    ),
    moved as (
        update quotes.subscription as existing
        set
            next_day = then_day, next_at = then_at, last_day = coalesce(day, existing.last_day),
            last_at = case
                when day is null then existing.last_at
                else greatest(existing.next_at, move_due.at_time - interval '15 minutes')
            end
        from decided
        -- Locked rows stay where they are.
        where existing.ctid = any (row_ids)
            and (existing.local_time, existing.time_zone, existing.next_day, existing.next_at)
                = (decided.local_time, decided.time_zone, decided.next_day, decided.next_at)
        returning existing.user_id, decided.day, decided.not_after
    )
    select
        moved.day, moved.not_after, array_agg(moved.user_id) filter (where moved.day is not null), move_due.taken,
        move_due.through, move_due.through_id
    from moved
    group by moved.day, moved.not_after
    order by moved.day, moved.not_after;
end
$$;
