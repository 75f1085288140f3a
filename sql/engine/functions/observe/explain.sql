-- explain: returns why a job is not running: every reason that applies, the first obstacle first. For other jobs: how
-- the job ended, or where it runs.
--
--   select * from errand.explain(4711);
--
-- code is one of
--   unknown, succeeded, failed, cancelled, obsolete   it is not waiting
--   unique_conflict                                   it can't be retried: another unfinished job has its key
--   running, worker_lost                              it runs, or its worker is lost
--   not_due, retry_later, not_promoted                its time has not come; or has, and maintenance is late
--   paused, no_worker, unknown_kind, too_late         no worker would claim it
--   kind_paused, circuit_open, limit_full, rate, over_rate, guard
--                                                     it may not run now
--   waits_for_signal, waits_for_callback              an outside event has not come
--   waits_for_jobs, parent_failed                     jobs have to succeed first
--   behind_in_order, order_blocked                    others of its order key come first; one of them has failed
--   crashed                                           it was in two crashes of its worker, and will run alone
--   behind, next                                      it waits in the queue
--   batch                                             not an obstacle: the batch that it is in, last
-- Errors are hidden from roles with errand_monitor only (errand_internal.sees_content). hint is the call that fixes the
-- problem, or says what to do. Costs some milliseconds: jobs ahead are counted up to 10,000.
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.explain(job_id bigint)
returns table (rank int, code text, detail text, hint text)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp set jit = off
as $$
#variable_conflict use_column
declare
    existing errand.job;
    reason record;
begin
    rank := 0;
    select * into existing from errand.job where id = explain.job_id;
    if not found then
        return query select row_number() over ()::int, ended.code, ended.detail, ended.hint
        from (
            select * from errand_internal.explain_ended(explain.job_id)
            union all
            select named.*
            from (
                select options from errand.failed where id = explain.job_id
                union all
                select options from errand.history where id = explain.job_id) as old
            cross join lateral errand_internal.explain_batch(old.options) as named) as ended;
        return;
    end if;
    for reason in
        select * from errand_internal.explain_running(existing) where existing.state = 'running'
        union all
        select * from errand_internal.explain_job(existing) where existing.state <> 'running'
        union all
        select * from errand_internal.explain_queue(existing) where existing.state <> 'running'
        union all
        select * from errand_internal.explain_limits(existing) where existing.state <> 'running'
    loop
        rank := rank + 1;
        code := reason.code;
        detail := reason.detail;
        hint := reason.hint;
        return next;
    end loop;
    if existing.state = 'available' then
        select ahead.code, ahead.detail, ahead.hint
        into code, detail, hint
        from errand_internal.explain_position(existing) as ahead;
        -- A blocked job is not said to be the next one.
        if code <> 'next' or rank = 0 then
            rank := rank + 1;
            return next;
        end if;
    end if;
    for reason in select * from errand_internal.explain_batch(existing.options) loop
        rank := rank + 1;
        code := reason.code;
        detail := reason.detail;
        hint := reason.hint;
        return next;
    end loop;
end
$$;
