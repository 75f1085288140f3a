-- park: parks a waiting job until its limit, dependency or crash isolation releases it. Spends no attempt.
create or replace function errand.park(job_id bigint, waits_for text) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    update errand.job
    set state = 'parked', queue_position = null, worker_id = null, parked_for = waits_for,
        -- The job may be from before its kind had a limit. With the key, its completion releases the next job at once.
        limit_key = coalesce(limit_key, substring(waits_for from '^limit:(.*)$'))
    where id = job_id
$$;
