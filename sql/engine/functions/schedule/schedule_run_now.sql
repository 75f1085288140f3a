-- schedule_run_now: enqueues a job of a schedule now, beside its ticks; also while the schedule is paused.
--
--   select errand.schedule_run_now('quote_of_the_day', 'the first one had a typo');
--
-- Its ticks stay as they are. errand.schedule_ticks shows the job as `by hand`, with the reason. Returns the job's id.
-- Raises ER404 for an unknown schedule, ER422 without a reason.
-- errand: for ops
-- errand: topic schedules
create or replace function errand.schedule_run_now(name text, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    held errand.schedule;
    moment timestamptz;
    job bigint;
begin
    perform errand_internal.check_reason('schedule_run_now', schedule_run_now.reason);
    select * into held from errand.schedule as known where known.name = schedule_run_now.name;
    if not found then
        perform errand_internal.check_known_schedule('schedule_run_now', schedule_run_now.name);
    end if;
    select job_id into job from errand.enqueue(held.kind, held.payload, held.queue);
    loop
        moment := clock_timestamp();
        insert into errand.tick (schedule, tick, outcome, job_id, reason)
        values (held.name, moment, 'by hand', job, schedule_run_now.reason)
        on conflict do nothing;
        exit when found;
    end loop;
    perform errand_internal.record_action(
        'schedule_run_now', jsonb_build_object('schedule', schedule_run_now.name), schedule_run_now.reason, array[job]);
    return job;
end
$$;
