-- retry_where: makes the failed or cancelled jobs that match a filter available again. By default it only shows them;
-- dry_run => false retries them. per_minute spreads them, so that a service that is just back is not overloaded.
--
--   select count(*), max(run_at)
--   from errand.retry_where('{"kind": "image_compression", "error": "bucket"}', per_minute => 600);
--   select count(*) from errand.retry_where(
--       '{"kind": "image_compression", "error": "bucket"}', per_minute => 600, dry_run => false, reason => 'it is up');
--
-- errand_internal.job_filter has the filter's keys; state is failed (the default) or cancelled. Jobs that ended first
-- come first, at most max_jobs in a call (1 to 100,000). A job whose unique key an unfinished job has is skipped, and
-- of several with one key the newest is retried. A job that was cancelled before its own time gets that back. Returns a
-- row for each job with the time at which it is due. In a dry run, beyond and a notice have the number of further
-- matches. Raises ER422.
-- errand: for ops
-- errand: topic retry
create or replace function errand.retry_where(
    filter jsonb, reason text default null, per_minute int default null, dry_run boolean default true,
    max_jobs int default 10000
) returns table (job_id bigint, was text, run_at timestamptz, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand_internal.job_filter('retry_where', retry_where.filter, '{failed,cancelled}');
    wanted text := coalesce(choice.state, 'failed');
    chosen bigint[];
    due timestamptz[];
    back bigint[];
    more bigint;
    action_id bigint;
begin
    perform errand_internal.check_bound('retry_where', retry_where.max_jobs);
    if per_minute not between 1 and 1000000 then
        raise exception 'retry_where: per_minute: expected 1 to 1000000, got %', per_minute using errcode = 'ER422';
    end if;
    choice.state := null;               -- the condition on it is below
    execute format(
        $find$
        with matching as (
            select
                job.id, job.finished_at, job.run_at,
                row_number() over (
                    partition by coalesce(case when job.waiting_key is null then job.unique_key end, job.id::text)
                    order by job.finished_at desc) as nth
            from errand.%I as job
            where %s and %s and (job.waiting_key is not null or not exists (
                select
                from errand.job as live
                where live.unique_key = job.unique_key and not errand_internal.is_expired(live)))
        ),
        placed as (
            select
                id, index,
                greatest(
                    now() + coalesce((index - 1) * interval '1 minute' / $1, interval '0'),
                    case $4 when 'cancelled' then run_at end) as due_at
            from (
                select id, run_at, row_number() over (order by finished_at, id) as index from matching where nth = 1
            ) as in_order
        )
        select
            array_agg(id order by due_at, id) filter (where index <= $2),
            array_agg(due_at order by due_at, id) filter (where index <= $2),
            case when $3 then count(*) filter (where index > $2) end
        from placed
        $find$,
        case wanted when 'failed' then 'failed' else 'history' end,
        -- As the partial index has it.
        case wanted
            when 'failed' then 'true' else 'job.state = ''cancelled'' and job.state <> ''succeeded'''
        end,
        errand_internal.job_condition(
            choice, case wanted when 'failed' then 'job.error' else 'job.reason' end,
            case wanted when 'failed' then 'job.fingerprint' else 'null' end, 'job.finished_at'))
    into chosen, due, more
    using per_minute, max_jobs, dry_run, wanted;
    perform errand_internal.report_truncation('retry_where', max_jobs, more);
    if chosen is null then
        perform errand_internal.report_unknown('retry_where', choice);
    end if;
    if not dry_run and chosen is not null then
        action_id := nextval('errand.action_id_seq');
        back := errand_internal.requeue_jobs('retry_where', chosen, due, action_id);
        perform errand_internal.record_action(
            'retry_where', jsonb_build_object('filter', filter, 'per_minute', per_minute), retry_where.reason, back,
            action_id);
        perform errand_internal.wake();
    end if;
    return query
    select id, wanted, due_at, more
    from unnest(chosen, due) as found(id, due_at)
    where dry_run or id = any (back);
end
$$;
