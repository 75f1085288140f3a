-- settle_limit: gives slots to the jobs that run under a new limit, once. Jobs under a key without a limit get none.
--
-- It waits for claims that are under way and may not have seen the limit: each holds errand.limits_lock in row
-- exclusive mode. Returns false if they take more than 100 ms. The caller holds the lock of errand.lock_limits.
create or replace function errand.settle_limit(bound errand.limit) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set lock_timeout = '100ms' as $$
declare
    running record;
begin
    lock table errand.limits_lock in share mode;
    for running in
        select live.id, live.queue_position, coalesce(live.limit_key, kind.limit_key) as limit_key
        from errand.claim
        cross join lateral (
            -- So that each is found by its id.
            select * from errand.job where id = any (claim.job_ids) offset 0
        ) as live
        left join errand.kind on kind.name = live.kind
        where live.state = 'running' and live.worker_id = claim.worker_id
            and (errand.bound_of(coalesce(live.limit_key, kind.limit_key))).limit_key = bound.limit_key
            and not exists (
                select
                from errand.limit_slot as held
                where held.job_id = live.id and held.queue_position = live.queue_position and held.slot > 0)
    loop
        perform errand.take_slot(
            running.limit_key, errand.highest_slot(running.limit_key) + 1, running.id, running.queue_position);
    end loop;
    update errand.limit set is_settled = true
    where ctid = (select ctid from errand.limit where limit_key = bound.limit_key for update skip locked);
    return true;
exception
    when lock_not_available then
        perform set_config('errand.limits_are_locked', 'yes', true);
        return false;
end
$$;
comment on function errand.settle_limit(errand.limit) is
    'Gives slots to the jobs that run under a new limit; false if claims that are under way take too long';
