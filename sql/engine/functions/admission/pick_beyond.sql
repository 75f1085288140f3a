-- pick_beyond: for a claim that has met many jobs that may not run: returns jobs behind them that probably may, by
-- position. Scans the next 100,000 positions, at 1 us each, and locks the rows; errand_internal.admit decides about
-- them.
--
-- Takes up to `wanted` jobs, without those in `picked`: jobs that need no admission check, and jobs whose limit has
-- room (the first 100 limits that it meets).
create or replace function errand_internal.pick_beyond(
    scope errand.claim_scope, marks bigint[], picked tid[], wanted int
) returns tid[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return array(
        with ahead as materialized (
            select near.*
            from unnest(scope.priorities) as level
            cross join lateral (
                select waiting.ctid, waiting.kind, waiting.limit_key, waiting.guard
                from errand.job as waiting
                where waiting.queue = scope.queue and waiting.priority = level
                    and waiting.queue_position > marks[level]
                    and waiting.state = 'available' and waiting.kind = any (scope.kinds) and waiting.crashes = 0
                    and (waiting.not_after < now()) is not true
                order by waiting.queue_position
            ) as near
            limit 100000
        ),
        roomy as materialized (
            select key
            from (select distinct limit_key from ahead where limit_key is not null limit 100) as met(key)
            where not errand_internal.limit_is_full(key)
        )
        select ctid
        from errand.job
        where ctid = any (array(
            select ahead.ctid
            from ahead
            where ahead.guard is null and (picked is null or ahead.ctid <> all (picked))
                and case
                    when ahead.limit_key is null then scope.checked is null or ahead.kind <> all (scope.checked)
                    else ahead.limit_key in (select key from roomy)
                end
            limit wanted))
            and state = 'available'
        order by queue_position
        for update skip locked);
end
$$;
