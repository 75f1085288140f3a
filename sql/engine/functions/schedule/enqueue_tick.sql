-- enqueue_tick: enqueues a job of a schedule, for a tick or by hand. Returns its id, or null if the schedule's overlap
-- is skip and an earlier job of it is unfinished.
--
-- With overlap replace that job is cancelled. A job of a schedule with an owner is the owner's, who may follow it.
-- Raises 42501 if the owner may no longer enqueue, and what errand.enqueue raises: the schedule shows that as its
-- problem, and is tried again.
create or replace function errand_internal.enqueue_tick(schedule errand.schedule, run_at timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    key constant text := case when schedule.overlap <> 'allow' then 'schedule:' || schedule.name end;
    job bigint;
begin
    if schedule.owner is not null
        and not exists (
            select from pg_roles
            where rolname = schedule.owner and pg_has_role(oid, 'errand_enqueuer', 'member'))
    then
        raise exception 'schedule: expected an owner who may enqueue, got %', quote_literal(schedule.owner)
            using errcode = 'insufficient_privilege', hint = format('grant errand_enqueuer to %I', schedule.owner);
    end if;
    if schedule.overlap = 'replace' then
        select id into job from errand.job where unique_key = key;
        if found then
            perform errand.cancel(array[job], 'replaced by a later tick of its schedule');
        end if;
    end if;
    select case when inserted then job_id end
    into job
    from errand_internal.insert_job(
        schedule.kind, schedule.payload, schedule.queue, enqueue_tick.run_at, schedule.priority, null, key,
        null, 'keep', schedule.limit_key, null, schedule.tags, schedule.subject, null, schedule.owner, null);
    return job;
end
$$;
