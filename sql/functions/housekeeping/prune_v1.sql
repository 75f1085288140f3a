-- prune_v1: removes records whose time is over, up to 10,000 of each sort in a call. Returns the most that it removed
-- of one sort: 10,000 means that there may be more.
--
-- Ended jobs of the usual retention (keep_history days) go with their day's partition and cost nothing here. Jobs of
-- kinds with a shorter one are looked for in the whole history. Failed jobs stay for keep_failed days, or as long as
-- their kind says. Failures of jobs that were retried stay for keep_history days (the newest 5,000), actions of
-- operators for a year. What another session has locked stays until the next call. Raises ER422 for less than a day.
create or replace function errand.prune_v1(keep_history int default 7, keep_failed int default 30) returns int
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC'
as $$
declare
    began timestamptz := clock_timestamp();
    removed int;
    total int := 0;
    most int := 0;
    brief record;
begin
    if keep_history < 1 or keep_failed < 1 then
        raise exception 'prune_v1: keep_history, keep_failed: expected at least 1 day, got % and %',
            keep_history, keep_failed using errcode = 'ER422';
    end if;
    for brief in
        select name, keep_ended from errand.kind where keep_ended < keep_history * interval '1 day'
    loop
        delete from errand.history as ended
        where (ended.tableoid, ended.ctid) in (
            select old.tableoid, old.ctid
            from errand.history as old
            where old.kind = brief.name and old.finished_at < now() - brief.keep_ended
            limit 10000
            for update skip locked);
        get diagnostics removed = row_count;
        total := total + removed;
        most := greatest(most, removed);
    end loop;
    delete from errand.history_default
    where ctid = any (array(
        select ended.ctid
        from errand.history_default as ended
        left join errand.kind on kind.name = ended.kind
        where ended.finished_at < now()::date - keep_history
            and ended.finished_at <= now() - coalesce(kind.keep_ended, interval '0')
        limit 10000
        for update of ended skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.failed
    where id = any (array(
        select failed.id
        from errand.failed
        left join errand.kind on kind.name = failed.kind
        where failed.finished_at < now() - coalesce(kind.keep_failed, prune_v1.keep_failed * interval '1 day')
        order by failed.finished_at
        limit 10000
        for update of failed skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.past_failure
    where ctid = any (array(
        select past.ctid
        from errand.past_failure as past
        where past.finished_at < now() - least(
                keep_history * interval '1 day',
                (select kind.keep_failed from errand.kind where kind.name = past.kind))
            or past.finished_at < (
                select finished_at from errand.past_failure order by finished_at desc offset 4999 limit 1)
        limit 10000));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.finished_per_minute
    where ctid = any (array(
        select ctid from errand.finished_per_minute where minute < now() - keep_history * interval '1 day' limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.progress
    where job_id = any (array(
        select old.job_id
        from errand.progress as old
        where old.updated_at < now() - keep_failed * interval '1 day'
            and not exists (select from errand.job where id = old.job_id)
        order by old.updated_at
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    -- Slots of keys that nobody has set a limit for: nothing else looks at them again. As sets, not by a call of
    -- errand.slot_is_taken for each: at 170 such jobs a second an hour leaves 600,000.
    delete from errand.limit_slot
    where ctid = any (array(
        select slot.ctid
        from errand.limit_slot as slot
        where slot.admitted_at < now() - interval '1 minute'
            -- No join: the planner might read all of errand.job for it.
            and (
                select job.line from errand.job where job.id = slot.job_id and job.state in ('available', 'running')
            ) is distinct from slot.line
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.action
    where id = any (array(
        select id from errand.action where done_at < now() - interval '1 year' order by done_at limit 10000));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    perform errand.note_duty('maintain', began, format('%s records removed', total));
    return most;
end
$$;
comment on function errand.prune_v1(int, int) is
    'Housekeeping: removes records whose time is over, 10,000 of each sort in a call; returns the most of one sort';
