-- clear_blocked: removes jobs that can't run from the next positions of a queue (errand_internal.admit), at 15 us a
-- job.
--
-- Calls no guard. The picked ones stay: the claim has admitted them, and takes them. Returns the number of jobs that it
-- removed, and may_lock as errand_internal.admit does.
create or replace function errand_internal.clear_blocked(
    scope errand.claim_scope, marks bigint[], picked tid[], positions int, inout may_lock boolean, out removed int
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    near tid[];
begin
    near := array(
        select ctid
        from errand.job
        where ctid = any (array(
            select ahead.ctid
            from (
                select near.*
                from unnest(scope.priorities) as level
                cross join lateral (
                    select
                        waiting.ctid, waiting.kind, waiting.not_after, waiting.limit_key, waiting.rate_key,
                        waiting.options
                    from errand.job as waiting
                    where waiting.queue = scope.queue and waiting.priority = level
                        and waiting.queue_position > marks[level]
                        and waiting.state = 'available' and waiting.kind = any (scope.kinds)
                    order by waiting.queue_position
                ) as near
                limit positions) as ahead
            where ahead.not_after < now() or ahead.limit_key is not null or ahead.rate_key is not null
                or ahead.kind = any (scope.checked) or ahead.options ? 'order_key'))
            and state = 'available' and (picked is null or ctid <> all (picked))
        for update skip locked);
    select admitted.blocked, admitted.may_lock
    into removed, may_lock
    from errand_internal.admit(near, scope.checked, null, clear_blocked.may_lock) as admitted;
end
$$;
