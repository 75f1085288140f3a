-- release_limits: releases jobs that wait for the slots of these limit keys (errand_internal.release_limit), whose jobs
-- have just completed in the same transaction. Returns the released jobs. may_lock is false if another session holds
-- the limits' lock: then maintenance releases the others within 200 ms.
create or replace function errand_internal.release_limits(
    limit_keys text[], out released bigint[], out may_lock boolean
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    key text;
begin
    may_lock := true;
    for key in
        select distinct asked
        from unnest(limit_keys) as asked
        where errand_internal.limit_of(asked) is not null
            or exists (select from errand.job where parked_for = 'limit:' || asked)
        order by asked
    loop
        -- Before the scan: a running claim may park a job for the slot that is now free.
        may_lock := errand_internal.lock_limits();
        exit when not may_lock;
        released := released || (errand_internal.release_limit(key)).released_ids;
    end loop;
end
$$;
