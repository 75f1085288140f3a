-- release_waits: makes those of these waiting jobs available whose signal has come, or whose time is over. Returns
-- their number.
--
-- Their options get what has come: the id of the signal, whose payload errand_internal.job_options adds for the worker.
-- A job that another session has locked is checked again (errand.signal_check). A wait whose job waits no more is
-- removed.
create or replace function errand_internal.release_waits(ids bigint[]) returns int
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    waits record;
    released int := 0;
begin
    for waits in
        select
            asked.*, sent.id as signal_id,
            exists (
                select from errand.job where job.id = asked.job_id and parked_for = 'signal:' || asked.name
            ) as is_waiting
        from errand.signal_wait as asked
        left join lateral (
            select id
            from errand.signal
            where signal.name = asked.name
                and case
                    when signal.job_id is not null then signal.job_id = asked.job_id
                    else errand_internal.may_signal(signal.login, asked.role)
                end
            order by id
            limit 1) as sent on true
        where asked.job_id = any (ids)
            and (
                sent.id is not null or asked.until <= now()
                or not exists (
                    select from errand.job where job.id = asked.job_id and parked_for = 'signal:' || asked.name))
        order by asked.job_id
    loop
        if waits.is_waiting then
            perform
            from errand.job
            where id = waits.job_id and parked_for = 'signal:' || waits.name
            for update skip locked;
            if not found then
                insert into errand.signal_check (job_id) values (waits.job_id);
                continue;
            end if;
            update errand.job
            set state = 'available', parked_for = null, run_at = now(),
                options = coalesce(options, '{}') || jsonb_build_object('signal', jsonb_strip_nulls(jsonb_build_object(
                    'name', waits.name, 'id', waits.signal_id)))
            where id = waits.job_id;
            released := released + 1;
        end if;
        delete from errand.signal_wait
        where ctid = any (array(
            select old.ctid from errand.signal_wait as old
            where old.job_id = waits.job_id and old.name = waits.name
                -- Since the query above the job may have begun to wait for the same name again.
                and not exists (
                    select from errand.job where job.id = old.job_id and parked_for = 'signal:' || old.name)
            for update skip locked));
    end loop;
    if released > 0 then
        perform errand_internal.wake();
    end if;
    return released;
end
$$;
