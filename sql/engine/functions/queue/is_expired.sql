-- is_expired: returns whether a job waits and its not_after has passed. No claim starts it any more, so it counts as
-- ended wherever its unique key is wanted.
create or replace function errand_internal.is_expired(job errand.job) returns boolean
-- By the clock: a long transaction enqueues too.
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select (job.state <> 'running' and job.not_after < clock_timestamp()) is true
$$;
