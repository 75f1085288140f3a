-- respace_rate: gives the waiting jobs with a reservation under a key new times, as the key's rate asks now; without a
-- rate they are due at once. The first one starts no later than before. A job that another session has locked loses its
-- reservation, and reserves again once it is due.
--
-- The caller holds the lock of errand_internal.lock_limits. Returns the number of jobs. Costs some 30 us a job.
-- errand: after is_reserved_for, rate_of, set_rate_clock
create or replace function errand_internal.respace_rate(rate_key text) returns int
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    rate constant errand.key_rate := errand_internal.rate_of(respace_rate.rate_key);
    spacing constant interval := rate.spacing * interval '1 second';
    present constant timestamptz := clock_timestamp();
    ids bigint[];
    first timestamptz;
    new_times timestamptz[];
begin
    -- The transaction id comes before the position: see errand_internal.requeue.
    perform pg_current_xact_id();
    select array_agg(id order by start_at, id), least(min(start_at), present + spacing)
    into ids, first
    from (
        select job.id, reserved.start_at
        from errand.rate_reservation as reserved
        join errand.job on job.id = reserved.job_id and job.run_at = reserved.start_at
        where reserved.rate_key = respace_rate.rate_key and reserved.start_at > present
            and job.rate_key = reserved.rate_key and job.state = 'scheduled'
        for update of job skip locked) as waiting;
    delete from errand.rate_reservation as reserved
    where reserved.rate_key = respace_rate.rate_key
        and (reserved.start_at > present or rate.spacing is null);
    new_times := array(
        select coalesce(first + (nth - 1) * spacing, now())
        from generate_series(1, cardinality(ids)) as nth
        order by nth);
    update errand.job
    set run_at = moved.run_at, state = case when moved.run_at <= now() then 'available' else 'scheduled' end
    from unnest(ids, new_times) as moved(id, run_at)
    where job.id = moved.id;
    if rate.spacing is null then
        delete from errand.rate_clock as existing where existing.rate_key = respace_rate.rate_key;
    else
        insert into errand.rate_reservation (rate_key, start_at, job_id)
        select respace_rate.rate_key, moved.run_at, moved.id from unnest(ids, new_times) as moved(id, run_at);
        perform errand_internal.set_rate_clock(
            respace_rate.rate_key,
            case
                when ids is null then least(tat, extract(epoch from present) + rate.burst * rate.spacing)
                else extract(epoch from new_times[cardinality(ids)]) + rate.burst * rate.spacing
            end)
        from errand.rate_clock as existing
        where existing.rate_key = respace_rate.rate_key
        order by tat desc
        limit 1;
    end if;
    perform errand_internal.wake();
    return coalesce(cardinality(ids), 0);
end
$$;
