-- forget_by_kind: removes ended and failed jobs whose time is over, 10,000 of each sort in a call; a kind may have a time of
-- its own. Answers how many.
--
-- What is kept for the usual time costs nothing here: it goes with its day's partition. A kind that is kept for less is
-- looked for in the whole history.
create or replace function errand.forget_by_kind(keep_history int, keep_failed int) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC' as $$
declare
    today date := now()::date;
    removed int;
    forgotten int := 0;
    brief record;
begin
    delete from errand.history_default as ended
    where ended.finished_at < today - keep_history
        and not exists (
            select from errand.kind
            where kind.name = ended.kind and ended.finished_at > now() - kind.keep_ended);
    get diagnostics forgotten = row_count;
    for brief in select name, keep_ended from errand.kind where keep_ended < keep_history * interval '1 day' loop
        delete from errand.history as ended
        where (ended.tableoid, ended.ctid) in (
            select old.tableoid, old.ctid
            from errand.history as old
            where old.kind = brief.name and old.finished_at < now() - brief.keep_ended
            limit 10000);
        get diagnostics removed = row_count;
        forgotten := greatest(forgotten, removed);
    end loop;
    delete from errand.failed
    where id in (
        select failed.id
        from errand.failed
        left join errand.kind on kind.name = failed.kind
        where failed.finished_at < now() - coalesce(kind.keep_failed, forget_by_kind.keep_failed * interval '1 day')
        order by failed.finished_at
        limit 10000);
    get diagnostics removed = row_count;
    return forgotten + removed;
end
$$;
comment on function errand.forget_by_kind(int, int) is
    'Housekeeping: removes ended and failed jobs whose time, or that of their kind, is over';
