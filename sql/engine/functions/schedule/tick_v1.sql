-- tick_v1: records the ticks that are due, of up to 100 schedules, and returns when to come back. Any number of
-- schedulers and other sessions may call it: each tick is recorded once.
--
-- mark: the one that the last call returned, which lets this call leave out what earlier ones have dealt with; null
-- reads all due schedules, which finds those of a transaction that stayed open for more than 0.5 s. A schedule that
-- another session has locked is left out: it delays no other. A schedule whose ticks or jobs can't be made shows why as
-- its problem, is tried again after 30 s, and is in refused with the reason.
--
-- Every 10 s it records that somebody calls it, which errand.health reads. Without a mark, or after the server's clock
-- was set back, it repairs ticks that lie in the future (errand_internal.prune_future_ticks). Beside a held snapshot a
-- call without a mark reads a dead entry for each tick since then: 270 ms after ten minutes of 260 a second.
--
-- Returns the database's time, the next mark, when the next schedule is due, and what it has recorded. A backend keeps
-- the rules of a time zone as it has read them first: call it from a session that is younger than an hour. Raises ER421
-- if the database is a copy that nobody has adopted.
create or replace function errand_internal.tick_v1(
    inout mark timestamptz default null, out moment timestamptz, out due_at timestamptz, out schedules text[],
    out ticks timestamptz[], out outcomes text[], out refused text[], out reasons text[]
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
    start constant timestamptz := least(coalesce(mark, '-infinity'), now());
    -- Not in each call: it reads the dead entries since the mark once more.
    moves_mark constant boolean := (mark between now() - interval '1 second' and now()) is not true;
    last_call timestamptz;
    row_ids tid[];
    names text[];
    one text;
    -- What the problem of a refused schedule begins with.
    stage text;
    is_refused boolean := false;
    recorded record;
begin
    perform errand_internal.check_home();
    if moves_mark then
        select task.done_at into last_call from errand.maintenance_task as task where task.name = 'schedule';
        if (last_call between clock_timestamp() - interval '10 seconds' and clock_timestamp()) is not true
            -- A transaction that called this may stay open.
            and errand_internal.try_lock('schedule')
        then
            perform errand_internal.record_task('schedule', clock_timestamp());
            -- A last call in the future is from before the server's clock was set back.
            if mark is null or last_call > clock_timestamp() then
                perform errand_internal.prune_future_ticks();
            end if;
        end if;
    end if;
    select array_agg(free.ctid), array_agg(free.name)
    into row_ids, names
    from (
        select target.ctid, target.name
        from errand.schedule as target
        where target.due_at >= start and target.due_at <= now()
        order by target.due_at
        limit 100
        for no key update skip locked
    ) as free;
    if names is not null then
        begin
            select * into schedules, ticks, outcomes from errand_internal.record_due_ticks(row_ids);
        exception when others then
            if errand_internal.is_transient(sqlstate) then
                raise;
            end if;
            is_refused := true;
        end;
    end if;
    if is_refused then
        -- One of them fails for all: each alone.
        foreach one in array names loop
            stage := '';
            begin
                perform errand_internal.plan_schedule(one);
                stage := 'its jobs are refused: ';
                select *
                into recorded
                from errand_internal.record_due_ticks(
                    array(select target.ctid from errand.schedule as target where target.name = one));
                schedules := schedules || recorded.schedules;
                ticks := ticks || recorded.ticks;
                outcomes := outcomes || recorded.outcomes;
            exception when others then
                if errand_internal.is_transient(sqlstate) then
                    raise;
                end if;
                refused := refused || one;
                reasons := reasons || (stage || sqlerrm);
                update errand.schedule as target
                set
                    problem = stage || sqlerrm, due_at = clock_timestamp() + interval '30 seconds',
                    next_tick = case when stage <> '' then target.next_tick end
                where target.name = one;
            end;
        end loop;
    end if;
    if moves_mark then
        mark := least(
            now() - interval '500 milliseconds',
            (select min(target.due_at) from errand.schedule as target where target.due_at >= start));
    end if;
    -- Of these there may be more, or ticks of theirs.
    due_at := case
        when cardinality(names) = 100 or cardinality(ticks) >= 200 then now()
        else (
            select min(target.due_at)
            from errand.schedule as target
            -- Not of one that has ended.
            where target.due_at > now() and target.due_at < 'infinity')
    end;
    moment := clock_timestamp();
end
$$;
