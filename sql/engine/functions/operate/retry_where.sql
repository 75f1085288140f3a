-- retry_where: makes the failed or cancelled jobs that match a filter available again. By default it only shows them;
-- dry_run => false retries them. per_minute spreads them, so that a service that is just back is not overloaded.
--
--   select count(*), max(run_at)
--   from errand.retry_where('{"kind": "image_compression", "error": "bucket"}', per_minute => 600);
--   select count(*) from errand.retry_where(
--       '{"kind": "image_compression", "error": "bucket"}', per_minute => 600, dry_run => false, reason => 'it is up');
--
-- errand.job_filter has the filter's keys; state is failed (the default) or cancelled. Jobs that ended first come
-- first, at most max_jobs in a call (1 to 100,000). A job whose unique key an unfinished job has is skipped, and of
-- several with one key the newest is retried. Returns a row for each job with the time at which it is due. In a dry
-- run, beyond and a notice have the number of further matches. Raises ER422.
create or replace function errand.retry_where(
    filter jsonb, per_minute int default null, dry_run boolean default true, reason text default null,
    max_jobs int default 10000
) returns table (job_id bigint, was text, run_at timestamptz, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand.job_filter('retry_where', retry_where.filter, '{failed,cancelled}');
    wanted text := coalesce(choice.state, 'failed');
    chosen bigint[];
    due timestamptz[];
    back bigint[];
    more bigint;
begin
    perform errand.check_bound('retry_where', retry_where.max_jobs);
    if per_minute not between 1 and 1000000 then
        raise exception 'retry_where: per_minute: expected 1 to 1000000, got %', per_minute using errcode = 'ER422';
    end if;
    with ended as (
        select id, finished_at, unique_key, queue, kind, tags, limit_key, created_at, error
        from errand.failed
        where wanted = 'failed'
        union all
        select id, finished_at, unique_key, queue, kind, tags, limit_key, created_at, reason
        from errand.history
        where wanted = 'cancelled' and state = 'cancelled' and state <> 'succeeded'
    ),
    matching as (
        select
            ended.id, ended.finished_at,
            row_number() over (partition by coalesce(ended.unique_key,
                ended.id::text) order by ended.finished_at desc) as nth
        from ended
        where (choice.queue is null or ended.queue = choice.queue)
            and (choice.kind is null or ended.kind = choice.kind)
            and (choice.tag is null or choice.tag = any (ended.tags))
            and (choice.unique_key is null or ended.unique_key = choice.unique_key)
            and (choice.limit_key is null or ended.limit_key = choice.limit_key)
            and (choice.error is null or strpos(ended.error, choice.error) > 0)
            and (choice.created_after is null or ended.created_at >= choice.created_after)
            and (choice.created_before is null or ended.created_at < choice.created_before)
            and (choice.ended_after is null or ended.finished_at >= choice.ended_after)
            and (choice.ended_before is null or ended.finished_at < choice.ended_before)
            and not exists (select from errand.job as live where live.unique_key = ended.unique_key)
    ),
    placed as (
        select id, index, now() + coalesce((index - 1) * interval '1 minute' / per_minute, interval '0') as due_at
        from (
            select id, row_number() over (order by finished_at, id) as index from matching where nth = 1
        ) as in_order
    )
    select
        array_agg(id order by due_at, id) filter (where index <= max_jobs),
        array_agg(due_at order by due_at, id) filter (where index <= max_jobs),
        case when dry_run then count(*) filter (where index > max_jobs) end
    into chosen, due, more
    from placed;
    perform errand.report_truncation('retry_where', max_jobs, more);
    if chosen is null then
        perform errand.report_unknown('retry_where', choice);
    end if;
    if not dry_run and chosen is not null then
        back := errand.requeue_jobs('retry_where', chosen, due);
        perform errand.record_action(
            'retry_where', jsonb_build_object('filter', filter, 'per_minute', per_minute), retry_where.reason, back);
        perform errand.wake();
    end if;
    return query
    select id, wanted, due_at, more
    from unnest(chosen, due) as found(id, due_at)
    where dry_run or id = any (back);
end
$$;
comment on function errand.retry_where(jsonb, int, boolean, text, int) is
    'Makes the failed jobs that match a filter available again, spread by per_minute; only shows them, unless dry_run '
    '=> false. Example: select count(*) from errand.retry_where(''{"kind": "noop"}'', 600, dry_run => false)';
