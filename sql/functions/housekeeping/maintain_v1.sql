-- maintain_v1: makes the history's partitions ahead, drops those whose time is over, and forgets old failures and counts.
--
-- Days are days in UTC. Each drop or make takes an exclusive lock on the history for a moment: where it can't have it
-- within 200 ms the whole run raises 55P03, changes nothing, and is to be called again later.
create or replace function errand.maintain_v1(
    keep_history int default 7, keep_failed int default 30, days_ahead int default 3
) returns table (made int, dropped int, forgotten int)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set lock_timeout = '200ms' set timezone = 'UTC'
as $$
declare
    today date := now()::date;
    day date;
    part text;
    gone int;
    began timestamptz := clock_timestamp();
begin
    if keep_history < 1 or keep_failed < 1 then
        raise exception 'maintain_v1: keep_history, keep_failed: expected 1 day at least, got % and %',
            keep_history, keep_failed using errcode = 'ER422';
    end if;
    made := 0;
    dropped := 0;
    forgotten := 0;
    for day in select today + ahead from generate_series(0, days_ahead) as ahead loop
        part := 'history_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass('errand.' || part) is not null;
        -- A day whose rows went into the safety net already stays there: it can't have a partition of its own.
        continue when exists (
            select from errand.history_default where finished_at >= day and finished_at < day + 1);
        execute format(
            'create table errand.%I partition of errand.history for values from (%L) to (%L)',
            part, day::timestamptz, (day + 1)::timestamptz);
        execute format('comment on table errand.%I is %L', part, 'Jobs that ended on ' || day || ' (UTC)');
        made := made + 1;
    end loop;
    for part in
        select child.relname
        from pg_inherits
        join pg_class as child on child.oid = pg_inherits.inhrelid
        where pg_inherits.inhparent = 'errand.history'::regclass and child.relname ~ '^history_\d{8}$'
            and to_date(right(child.relname, 8), 'YYYYMMDD') < today - keep_history
    loop
        if exists (select from errand.kind where kind.keep_ended > keep_history * interval '1 day') then
            -- Without its partition the safety net takes what is kept for longer.
            execute format('alter table errand.history detach partition errand.%I', part);
            execute format(
                'insert into errand.history select ended.* from errand.%I as ended join errand.kind on kind.name = ended.kind '
                'where ended.finished_at > now() - kind.keep_ended', part);
        end if;
        execute format('drop table errand.%I', part);
        dropped := dropped + 1;
    end loop;
    forgotten := errand.forget_by_kind(keep_history, keep_failed);
    delete from errand.finished_per_minute where minute < now() - keep_history * interval '1 day';
    get diagnostics gone = row_count;
    forgotten := forgotten + gone;
    delete from errand.progress
    where job_id in (
        select old.job_id
        from errand.progress as old
        where old.updated_at < now() - keep_failed * interval '1 day'
            and not exists (select from errand.job where id = old.job_id)
        order by old.updated_at
        limit 10000);
    delete from errand.limit_slot as slot
    where slot.admitted_at < now() - interval '1 hour' and not errand.slot_is_taken(slot);
    delete from errand.action where done_at < now() - interval '1 year';
    get diagnostics gone = row_count;
    forgotten := forgotten + gone;
    perform errand.note_duty('maintain', began, format('%s made, %s dropped, %s forgotten', made, dropped, forgotten));
    return next;
end
$$;
comment on function errand.maintain_v1(int, int, int) is
    'Housekeeping: makes and drops the history''s partitions, forgets old failures and counts';
