-- rate_spend: records that jobs of the queue have just started. The caller holds the lock of
-- errand_internal.lock_limits.
create or replace function errand_internal.rate_spend(queue text, started int) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
    span constant interval := (select per from errand.rate where rate.queue = rate_spend.queue);
    log errand.rate_log;
    newest int;
begin
    select
        array_agg(started.first_at order by nth), array_agg(started.last_at order by nth),
        array_agg(started.jobs order by nth)
    into log.first_at, log.last_at, log.jobs
    from errand.rate_log as existing
    cross join lateral unnest(existing.first_at, existing.last_at, existing.jobs) with ordinality
        as started(first_at, last_at, jobs, nth)
    where existing.queue = rate_spend.queue and started.last_at > present - span;
    newest := coalesce(cardinality(log.jobs), 0);
    if newest > 0 and log.first_at[newest] > present - span / 100 then
        log.last_at[newest] := present;
        log.jobs[newest] := log.jobs[newest] + rate_spend.started;
    else
        log.first_at := log.first_at || present;
        log.last_at := log.last_at || present;
        log.jobs := log.jobs || rate_spend.started;
    end if;
    insert into errand.rate_log (queue, first_at, last_at, jobs)
    values (rate_spend.queue, log.first_at, log.last_at, log.jobs)
    on conflict on constraint rate_log_pkey do update
    set first_at = excluded.first_at, last_at = excluded.last_at, jobs = excluded.jobs;
end
$$;
