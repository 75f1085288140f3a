-- pick_crashed: returns the oldest due job of a claim's queue that was running in a crash of its worker, and locks its
-- row.
create or replace function errand_internal.pick_crashed(scope errand.claim_scope) returns tid[]
language sql set search_path = pg_catalog, errand, pg_temp as $$
    select array(
        select ctid
        from errand.job
        where crashes >= 1 and state = 'available' and job.queue = scope.queue and kind = any (scope.kinds)
        order by id
        limit 1
        for update skip locked)
$$;
