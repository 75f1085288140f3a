-- discard_where: gives up the failed jobs that match a filter. By default it only shows them; dry_run => false moves
-- them to the history as cancelled.
--
--   select * from errand.discard_where('{"kind": "newsletter", "error": "unknown address"}', reason => 'they left');
--   select count(*) from errand.discard_where('{"kind": "newsletter"}', reason => 'old', dry_run => false);
--
-- errand_internal.job_filter has the filter's keys; state is failed, if it is given. Lowest ids first, at most max_jobs
-- in a call (1 to 100,000): call it until it returns no row, or let errand.start_bulk discard all of them. A job that
-- another session has locked is skipped. Returns a row for each job with its state before and now, or as it would be.
-- In a dry run, beyond and a notice have the number of further matches. Raises ER422.
-- errand: for ops
-- errand: topic retry
create or replace function errand.discard_where(
    filter jsonb, reason text, dry_run boolean default true, max_jobs int default 10000
) returns table (job_id bigint, was text, now text, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand_internal.job_filter('discard_where', discard_where.filter, '{failed}');
    chosen bigint[];
    more bigint;
    action_id bigint;
begin
    perform errand_internal.check_reason('discard_where', discard_where.reason);
    perform errand_internal.check_bound('discard_where', discard_where.max_jobs);
    choice.state := null;               -- all rows of errand.failed are
    execute format(
        $find$
        select
            array_agg(id) filter (where nth <= $1), case when $2 then count(*) filter (where nth > $1) end
        from (
            select job.id, row_number() over (order by job.id) as nth
            from errand.failed as job
            where %s
            order by job.id
            limit case when not $2 then $1 end) as found
        $find$, errand_internal.job_condition(choice, 'job.error', 'job.fingerprint', 'job.finished_at'))
    into chosen, more
    using max_jobs, dry_run;
    perform errand_internal.report_truncation('discard_where', max_jobs, more);
    if chosen is null then
        perform errand_internal.report_unknown('discard_where', choice);
    end if;
    if not dry_run and chosen is not null then
        -- A dry run locks nothing.
        action_id := nextval('errand.action_id_seq');
        chosen := errand_internal.discard_jobs(chosen, discard_where.reason, action_id);
        perform errand_internal.record_action(
            'discard_where', jsonb_build_object('filter', filter), discard_where.reason, chosen,
            action_id);
    end if;
    return query
    select id, 'failed', 'cancelled', more
    from unnest(chosen) as found(id);
end
$$;
