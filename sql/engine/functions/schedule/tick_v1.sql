-- tick_v1: settles one tick of a schedule: puts it on record and, where outcome is enqueued or late, its job in line,
-- both or none.
--
-- Answers the job's id. Null where the tick gives none, where another scheduler has settled it, where the schedule is
-- gone, and where it has another version than the one that the tick was computed from. While a schedule is paused, only
-- the outcome paused is taken. Ticks of one schedule are settled in order: what lies before its last_tick is refused for
-- good, also when its record is long forgotten. Raises ER421 where the database is a copy that nobody has adopted.
create or replace function errand.tick_v1(schedule text, tick timestamptz, outcome text, version bigint default null)
returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    held errand.schedule;
    job bigint;
begin
    perform errand.check_home();
    select * into held
    from errand.schedule as known
    where known.name = tick_v1.schedule
    for no key update;
    if not found or held.last_tick >= tick_v1.tick or held.version <> coalesce(tick_v1.version, held.version)
        or (held.paused_at is not null) <> (tick_v1.outcome = 'paused')
    then
        return null;
    end if;
    insert into errand.tick as settled (schedule, tick, outcome)
    values (tick_v1.schedule, tick_v1.tick, tick_v1.outcome)
    on conflict do nothing;
    -- Where it is on record already, an earlier schedule of this name has settled it.
    if found and tick_v1.outcome in ('enqueued', 'late') then
        -- run_at is the tick's own time: a job can tell which one it is for, and its lateness shows.
        select job_id into job from errand.enqueue(held.kind, held.payload, held.queue, run_at => tick_v1.tick);
        update errand.tick as settled
        set job_id = job
        where settled.schedule = tick_v1.schedule and settled.tick = tick_v1.tick;
    end if;
    update errand.schedule as known
    set last_tick = tick_v1.tick, next_tick = null
    where known.name = tick_v1.schedule;
    return job;
end
$$;
comment on function errand.tick_v1(text, timestamptz, text, bigint) is
    'For the scheduler: settles one tick exactly once, with its job; answers the job''s id, or null';
