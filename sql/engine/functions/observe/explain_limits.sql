-- explain_limits: for errand.explain: circuits, limits, rates and guards that keep a job from running.
create or replace function errand_internal.explain_limits(
    job errand.job
) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    defaults errand.kind;
    down errand.circuit;
    needed text;
    key text;
    bound errand.limit;
    rate errand.rate;
    used bigint;
    holders text;
begin
    select * into defaults from errand.kind where name = job.kind;
    needed := substring(job.parked_for from '^circuit:(.*)$');
    select * into down
    from errand.circuit
    where name = any (defaults.circuits || array[needed, 'kind:' || job.kind])
    -- The pause of its kind comes first.
    order by opened_at is not null and name = 'kind:' || job.kind desc, name is not distinct from needed desc,
        opened_at is not null desc
    limit 1;
    if down.opened_at is not null and down.name = 'kind:' || job.kind then
        code := 'kind_paused';
        detail := format(
            'the kind %s is paused since %s%s: %s', job.kind, down.opened_at, ' until ' || down.until,
            coalesce(down.reason, 'no reason given'));
        hint := format('select errand.resume_kind(%L)', job.kind);
        return next;
    elsif down.opened_at is not null then
        code := 'circuit_open';
        detail := format(
            '%s is down since %s (%s)%s%s', down.name, down.opened_at, down.opened_by,
            case when down.opened_by = 'ops' or errand_internal.sees_content() then ': ' || down.reason end,
            case
                when down.probe_job_id is not null then format('; job %s probes it', down.probe_job_id)
                when down.until is null then '; it stays down until an operator closes it'
                else format('; a job probes it at %s', down.until)
            end);
        hint := format('select errand.circuit_close(%L)', down.name);
        return next;
    elsif job.parked_for like 'circuit:%' then
        code := 'circuit_open';
        detail := format('%s is up again; parked jobs are released step by step, oldest first', needed);
        hint := null;
        return next;
    end if;
    key := coalesce(job.limit_key, defaults.limit_key, substring(job.parked_for from '^limit:(.*)$'));
    if key is not null then
        -- The key's own limit, else the longest pattern that matches it.
        select * into bound
        from errand.limit as existing
        where existing.limit_key = key
            or right(existing.limit_key, 1) = '*' and starts_with(key, left(existing.limit_key, -1))
        order by existing.limit_key = key desc, length(existing.limit_key) desc
        limit 1;
        if found then
            select count(*), string_agg(
                format('job %s on %s', holder.id, worker.name), ', ' order by holder.id)
                    filter (where nth <= 5)
            into used, holders
            from (
                select live.id, live.worker_id, row_number() over (order by live.id) as nth
                from errand.limit_slot as slot
                join errand.job as live on live.id = slot.job_id
                    and coalesce(live.queue_position, 0) = slot.queue_position and live.state = 'running'
                where slot.limit_key = key and slot.slot > 0
            ) as holder
            left join errand.worker on worker.id = holder.worker_id;
            if used >= bound.max_running then
                code := 'limit_full';
                detail := format(
                    'the limit %s allows %s at once and %s run%s', quote_literal(key), bound.max_running, used, ': '
                        || holders);
                hint := format('select errand.set_limit(%L, %s)', bound.limit_key, bound.max_running + 1);
                return next;
            elsif job.parked_for like 'limit:%' then
                code := 'limit_full';
                detail := format('the limit %s has room again (%s of %s): the job is released after older ones',
                    quote_literal(key), used, bound.max_running);
                hint := null;
                return next;
            end if;
        end if;
    end if;
    select * into rate from errand.rate where queue = job.queue;
    if found then
        select coalesce(sum(started.jobs), 0) into used
        from errand.rate_log as log
        cross join lateral unnest(log.last_at, log.jobs) as started(last_at, jobs)
        where log.queue = job.queue and started.last_at > clock_timestamp() - rate.per;
        if used >= rate.allowed then
            code := 'rate';
            detail := format('%s jobs of the queue %s started within %s, and no more may start', used, job.queue,
                rate.per);
            hint := format('select errand.set_rate(%L, %L, %s)', job.queue, rate.per, rate.allowed * 2);
            return next;
        end if;
    end if;
    if job.guard is not null then
        code := 'guard';
        select
            'the claim calls its guard ' || name || ' (' || function || '); if it says no, the job is obsolete'
            || case
                when slow_at between now() - interval '5 minutes' and now()
                    then format('. A call takes %s ms, so a claim checks few jobs', round(slow_ms))
                else ''
            end
        into detail
        from errand.guard
        where name = job.guard;
        hint := null;
        if detail is null then
            detail := format('its guard %s is not registered', job.guard);
        end if;
        return next;
    end if;
end
$$;
