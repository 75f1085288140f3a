-- explain_job: for errand.explain: obstacles in the job itself: its time, what it waits for, and its crashes.
create or replace function errand_internal.explain_job(job errand.job) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    rate errand.key_rate;
    is_callback constant boolean := coalesce(starts_with(job.parked_for, 'signal:callback/'), false);
begin
    if job.not_after <= now() then
        code := 'too_late';
        detail := format('its latest start was %s: it becomes obsolete at its claim', job.not_after);
        hint := null;
        return next;
    end if;
    if job.state = 'scheduled' and job.run_at > now() and job.rate_key is not null
        and exists (
            select
            from errand.rate_reservation as reserved
            where reserved.rate_key = job.rate_key and reserved.start_at = job.run_at and reserved.job_id = job.id)
    then
        rate := errand_internal.rate_of(job.rate_key);
        code := 'over_rate';
        detail := format('over its rate: starts at %s, in %s s', job.run_at,
                ceil(extract(epoch from job.run_at - now())))
            || format('; %s allows %s within %s', rate.rate_key, rate.allowed, rate.per);
        hint := format(
            'select errand.set_key_rate(%L, %L, %s, %s)', rate.rate_key, rate.per, rate.allowed * 2, rate.burst);
        return next;
    elsif job.state = 'scheduled' and job.run_at > now() then
        code := case when job.attempts is null then 'not_due' else 'retry_later' end;
        detail := format('it is due at %s', job.run_at)
            || case when isfinite(job.run_at)
                then format(', in %s s', ceil(extract(epoch from job.run_at - now()))) else '' end;
        if job.attempts is not null then
            detail := detail || format('; attempt %s of %s ended: %s', job.attempt, job.max_attempts,
                coalesce(
                    case when errand_internal.sees_content() then job.attempts -> -1 ->> 'error' end,
                    job.attempts -> -1 ->> 'outcome'));
        end if;
        hint := format('select * from errand.reschedule_job(%s, run_at => now())', job.id);
        return next;
    elsif job.state = 'scheduled' then
        code := 'not_promoted';
        detail := format('it is due since %s, and maintenance has not made it available', job.run_at);
        hint := 'Maintenance does so within a second: does any `errand worker` or `errand scheduler` run?';
        return next;
    elsif starts_with(job.parked_for, 'signal:') then
        code := case when is_callback then 'waits_for_callback' else 'waits_for_signal' end;
        select
            case
                when is_callback then format(
                    'its endpoint has accepted it, and has not called back; its attempt fails at %s', waits.until)
                else format(
                    'it waits for the signal %s of %s until %s', waits.name, coalesce(waits.role, 'errand_ops'),
                    waits.until)
            end,
            case
                when is_callback then format(
                    'select * from errand.reschedule_job(%s, run_at => now() + interval ''1 second'') posts it again.',
                    job.id)
                else format('select errand.signal(%L)', waits.name)
            end
        into detail, hint
        from errand.signal_wait as waits
        where waits.job_id = job.id;
        return next;
    elsif starts_with(job.parked_for, 'job:') then
        return query select * from errand_internal.explain_parents(job);
    elsif starts_with(job.parked_for, 'order:') then
        return query select * from errand_internal.explain_order(job);
    elsif job.parked_for = 'crash' then
        code := 'crashed';
        detail := format('it was running in %s crashes of its worker: such jobs are released one at a time',
            job.crashes);
        hint := format('select * from errand.cancel_job(%s, ''…'')', job.id);
        return next;
    end if;
end
$$;
