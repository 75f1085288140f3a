-- cancel_where: cancels the jobs that match a filter. By default it only shows them; dry_run => false cancels them.
--
--   select * from errand.cancel_where('{"kind": "newsletter"}', reason => 'wrong text');
--   select * from errand.cancel_where('{"kind": "newsletter"}', reason => 'wrong text', dry_run => false);
--
-- errand_internal.job_filter has the filter's keys; state is scheduled, available, parked or running. Lowest ids first,
-- at most max_jobs in a call (1 to 100,000): call it until it returns no row, or let errand.start_bulk cancel all of
-- them. A job that a worker is claiming or completing is skipped. Returns a row for each job with its state before and
-- now, or as it would be. In a dry run, beyond and a notice have the number of further matches. Raises ER422.
-- errand: for ops
-- errand: topic cancel
create or replace function errand.cancel_where(
    filter jsonb, reason text, dry_run boolean default true, max_jobs int default 10000
) returns table (job_id bigint, was text, now text, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand_internal.job_filter(
        'cancel_where', cancel_where.filter, '{scheduled,available,parked,running}');
    chosen bigint[];
    states text[];
    more bigint;
    action_id bigint;
begin
    perform errand_internal.check_reason('cancel_where', cancel_where.reason);
    perform errand_internal.check_bound('cancel_where', cancel_where.max_jobs);
    execute format(
        $find$
        select
            array_agg(id) filter (where nth <= $1), array_agg(state) filter (where nth <= $1),
            case when $2 then count(*) filter (where nth > $1) end
        from (
            select job.id, job.state, row_number() over (order by job.id) as nth
            from errand.job
            where %s
            order by job.id
            limit case when not $2 then $1 end) as found
        $find$, errand_internal.job_condition(
            choice, 'job.attempts -> -1 ->> ''error''', 'errand_internal.fingerprint(job.attempts -> -1 ->> ''error'')',
            'null::timestamptz'))
    into chosen, states, more
    using max_jobs, dry_run;
    perform errand_internal.report_truncation('cancel_where', max_jobs, more);
    if chosen is null then
        perform errand_internal.report_unknown('cancel_where', choice);
    end if;
    if not dry_run and chosen is not null then
        -- A dry run locks nothing.
        action_id := nextval('errand.action_id_seq');
        select * into chosen, states
        from errand_internal.cancel_jobs(chosen, choice.state, cancel_where.reason, action_id);
        perform errand_internal.parents_ended(chosen);
        perform errand_internal.record_action('cancel_where', jsonb_build_object('filter', filter), cancel_where.reason,
            coalesce(chosen, '{}'), action_id);
    end if;
    return query
    select id, state, 'cancelled', more
    from unnest(chosen, states) as found(id, state);
end
$$;
