-- release_v1: releases jobs that wait for the slots of these limit keys, whose jobs have just completed in the same
-- transaction. A claim after it takes the released jobs at once. If another session holds the limits' lock,
-- maintenance releases them within 200 ms.
create or replace function errand_internal.release_v1(limit_keys text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    key text;
begin
    perform set_config(
        'errand.position_before',
        (select case when is_called then last_value else 0 end from errand.job_position)::text, true);
    for key in
        select distinct asked
        from unnest(limit_keys) as asked
        where errand_internal.limit_of(asked) is not null
            or exists (select from errand.job where parked_for = 'limit:' || asked)
        order by asked
    loop
        -- Before the scan: a running claim may park a job for the slot that is now free.
        exit when not errand_internal.lock_limits();
        perform errand_internal.release_limit(key);
    end loop;
end
$$;
