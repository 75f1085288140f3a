-- cancel_where: cancels the jobs that match a filter. By default it only shows them; dry_run => false cancels them.
--
--   select * from errand.cancel_where('{"kind": "newsletter"}', reason => 'wrong text');
--   select * from errand.cancel_where('{"kind": "newsletter"}', reason => 'wrong text', dry_run => false);
--
-- errand.job_filter has the filter's keys; state is scheduled, available, parked or running. Lowest ids first, at most
-- max_jobs in a call (1 to 100,000): call it until it returns no row. A job that a worker is claiming or completing is
-- skipped. Returns a row for each job with its state before and now, or as it would be. In a dry run, beyond and a
-- notice have the number of further matches. Raises ER422.
create or replace function errand.cancel_where(
    filter jsonb, reason text, dry_run boolean default true, max_jobs int default 10000
) returns table (job_id bigint, was text, now text, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand.job_filter(
        'cancel_where', cancel_where.filter, '{scheduled,available,parked,running}');
    chosen bigint[];
    states text[];
    more bigint;
begin
    perform errand.check_reason('cancel_where', cancel_where.reason);
    perform errand.check_bound('cancel_where', cancel_where.max_jobs);
    select
        array_agg(id) filter (where nth <= max_jobs), array_agg(state) filter (where nth <= max_jobs),
        case when dry_run then count(*) filter (where nth > max_jobs) end
    into chosen, states, more
    from (
        select job.id, job.state, row_number() over (order by job.id) as nth
        from errand.job
        where (choice.queue is null or job.queue = choice.queue)
            and (choice.kind is null or job.kind = choice.kind)
            and (choice.state is null or job.state = choice.state)
            and (choice.tag is null or choice.tag = any (job.tags))
            and (choice.unique_key is null or job.unique_key = choice.unique_key)
            and (choice.limit_key is null or job.limit_key = choice.limit_key)
            and (choice.error is null or strpos(job.attempts -> -1 ->> 'error', choice.error) > 0)
            and (choice.created_after is null or job.created_at >= choice.created_after)
            and (choice.created_before is null or job.created_at < choice.created_before)
            and choice.ended_after is null and choice.ended_before is null
        order by job.id
        limit case when not dry_run then max_jobs end) as found;
    perform errand.report_truncation('cancel_where', max_jobs, more);
    if chosen is null then
        perform errand.report_unknown('cancel_where', choice);
    end if;
    if not dry_run and chosen is not null then
        -- A dry run locks nothing. From here on no worker claims or completes these jobs.
        select array_agg(id order by id), array_agg(state order by id) into chosen, states
        from (
            select job.id, job.state
            from errand.job
            where job.id = any (chosen) and (choice.state is null or job.state = choice.state)
            order by job.unique_key, job.id
            for update skip locked) as held;
        perform pg_notify('errand_cancel', id::text)
        from unnest(chosen, states) as found(id, state)
        where state = 'running';
        with ended as (
            delete from errand.job where id = any (chosen) returning *
        )
        insert into errand.history (
            id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, state, queue, kind,
            unique_key, payload, payload_day, attempts, reason, not_after, limit_key, guard, tags, traceparent)
        select
            id, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, 'cancelled', queue,
            kind, unique_key, payload, payload_day, case
                when state = 'running' then errand.attempt_record(
                    ended, (select name from errand.worker where worker.id = ended.worker_id), 'cancelled',
                    cancel_where.reason)
                else attempts
            end,
            left(cancel_where.reason, 4000), not_after, limit_key, guard, tags, traceparent
        from ended;
        perform errand.record_action('cancel_where', jsonb_build_object('filter', filter), cancel_where.reason,
            coalesce(chosen, '{}'));
    end if;
    return query
    select id, state, 'cancelled', more
    from unnest(chosen, states) as found(id, state);
end
$$;
comment on function errand.cancel_where(jsonb, text, boolean, int) is
    'Cancels the jobs that match a filter; only shows them, unless dry_run => false. Example: select * from '
    'errand.cancel_where(''{"kind": "newsletter"}'', ''wrong text'', dry_run => false)';
