-- park: takes a job that waits out of line, until what it waits for lets it go. Spends no attempt.
create or replace function errand.park(job_id bigint, waits_for text) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    update errand.job
    set state = 'parked', line = null, worker_id = null, parked_for = waits_for
    where id = job_id
$$;
comment on function errand.park(bigint, text) is 'Takes a job out of line until its limit or dependency lets it go';
