-- run_schedule: enqueues a job of a schedule now, beside its ticks; also while the schedule is paused.
--
--   select errand.run_schedule('daily_report', 'the first one had a typo');
--
-- Its ticks stay as they are. errand.schedule_ticks shows the job as `by hand`, with the reason. Returns the job's id.
-- Raises ER404 for an unknown schedule, ER422 without a reason, ER409 if its overlap is skip and an earlier job of it
-- is unfinished. With replace that job is cancelled.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.run_schedule(name text, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.schedule;
    moment timestamptz;
    job bigint;
begin
    perform errand_internal.check_reason('run_schedule', run_schedule.reason);
    select * into existing from errand.schedule as target where target.name = run_schedule.name;
    if not found then
        perform errand_internal.check_known_schedule('run_schedule', run_schedule.name);
    end if;
    job := errand_internal.enqueue_tick(existing, now());
    if job is null then
        raise exception 'run_schedule: name: expected one without an unfinished job, got %, whose overlap is skip',
            quote_literal(run_schedule.name)
            using errcode = 'ER409',
            hint = format('Its job is %s.', (
                select id from errand.job where unique_key = 'schedule:' || existing.name));
    end if;
    loop
        moment := clock_timestamp();
        insert into errand.tick (schedule, tick, outcome, job_id, reason)
        values (existing.name, moment, 'by hand', job, run_schedule.reason)
        on conflict do nothing;
        exit when found;
    end loop;
    perform errand_internal.record_action(
        'run_schedule', jsonb_build_object('schedule', run_schedule.name), run_schedule.reason, array[job]);
    return job;
end
$$;
