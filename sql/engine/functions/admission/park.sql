-- park: takes a job that waits out of line, until what it waits for lets it go. Spends no attempt.
create or replace function errand.park(job_id bigint, waits_for text) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    update errand.job
    set state = 'parked', queue_position = null, worker_id = null, parked_for = waits_for,
        -- From before its kind had a limit: the end of a job with a key lets the next one go at once.
        limit_key = coalesce(limit_key, substring(waits_for from '^limit:(.*)$'))
    where id = job_id
$$;
comment on function errand.park(bigint, text) is 'Takes a job out of line until its limit or dependency lets it go';
