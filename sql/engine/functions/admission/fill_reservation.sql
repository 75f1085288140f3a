-- fill_reservation: gives a reserved time that its job won't use to the last job of the key that has a reservation, so
-- that the key's rate is used in full. If none has one behind it, the clock of the key goes back. What lies behind that
-- job, and isn't used either, goes too. A time that has passed by more than half of the grace is lost.
--
-- The caller holds the lock of errand_internal.lock_limits. Returns whether a job has moved.
-- errand: after is_reserved_for, rate_of, set_rate_clock
create or replace function errand_internal.fill_reservation(free errand.rate_reservation) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    rate constant errand.key_rate := errand_internal.rate_of(free.rate_key);
    -- Otherwise the job that got it could be late again.
    is_timely constant boolean := free.start_at > now() - rate.grace / 2 * interval '1 second';
    last errand.rate_reservation;
    moved boolean := false;
    -- The first time behind those that are used.
    unused timestamptz;
begin
    -- It was read before the lock was there.
    perform
    from errand.rate_reservation as behind
    where (behind.rate_key, behind.start_at, behind.job_id) = (free.rate_key, free.start_at, free.job_id)
        and not errand_internal.is_reserved_for(behind);
    if not found then
        return false;
    end if;
    loop
        exit when is_timely is not true;
        select * into last
        from errand.rate_reservation as behind
        where behind.rate_key = free.rate_key and behind.start_at > greatest(free.start_at, now())
        order by behind.start_at desc, behind.job_id desc
        limit 1;
        exit when not found;
        if errand_internal.is_reserved_for(last) then
            update errand.job
            set run_at = free.start_at,
                state = case when free.start_at <= now() then 'available' else 'scheduled' end
            where ctid = any (array(
                select ctid
                from errand.job
                where job.id = last.job_id and job.run_at = last.start_at and job.state = 'scheduled'
                for update skip locked));
            moved := found;
            -- Another session changes it.
            exit when not moved;
            insert into errand.rate_reservation (rate_key, start_at, job_id)
            values (free.rate_key, free.start_at, last.job_id);
        end if;
        delete from errand.rate_reservation as behind
        where (behind.rate_key, behind.start_at, behind.job_id) = (last.rate_key, last.start_at, last.job_id);
        unused := last.start_at;
        exit when moved;
    end loop;
    delete from errand.rate_reservation as behind
    where (behind.rate_key, behind.start_at, behind.job_id) = (free.rate_key, free.start_at, free.job_id);
    if last.job_id is null and free.start_at > now() then
        unused := free.start_at;
    end if;
    if unused is not null and rate.spacing is not null then
        perform errand_internal.set_rate_clock(
            free.rate_key, extract(epoch from unused) + (rate.burst - 1) * rate.spacing);
    end if;
    return moved;
end
$$;
