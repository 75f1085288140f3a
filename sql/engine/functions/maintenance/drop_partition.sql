-- drop_partition: makes one step towards dropping the history's partitions that are older than 7 days, and the
-- partitions of payloads without references. Returns whether there is more to do: call it until it returns false.
--
-- A step detaches a partition. Or it moves up to 10,000 rows of kinds with a longer retention from a detached partition
-- to history_default, with their payloads, and those that other jobs wait for. Or it drops the partition, or is one of
-- errand_internal.drop_payloads. Each is a short transaction, and an interrupted run continues where it stopped.
--
-- Detaching locks the whole history for a moment. Raises 55P03 if a session reads the history for longer than 40 ms,
-- because completions would wait behind the lock, or if another session creates or drops partitions.
create or replace function errand_internal.drop_partition() returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp set lock_timeout = '40ms' set timezone = 'UTC'
as $$
declare
    -- As in errand_internal.prune.
    keep_history constant int := 7;
    part text;
    is_attached boolean;
    moved int := 0;
    awaited bigint[];
    others int;
begin
    lock table errand.partitions_lock in share update exclusive mode;
    select relname, relispartition into part, is_attached
    from pg_class
    where relnamespace = 'errand'::regnamespace and relkind = 'r' and relname ~ E'^history_\\d{8}$'
        and to_date(right(relname, 8), 'YYYYMMDD') < now()::date - keep_history
    order by relispartition, relname
    limit 1;
    if part is null then
        return errand_internal.drop_payloads(keep_history);
    elsif is_attached then
        execute format('alter table errand.history detach partition errand.%I', part);
        return true;
    end if;
    -- Without its partition, history_default takes the rows with a longer retention, and those that others wait for.
    awaited := errand_internal.awaited_parents();
    if awaited <> '{}' then
        execute format(
            'with moved as ('
            'delete from errand.%1$I where id = any ($1) and state <> ''succeeded'' returning *) '
            'insert into errand.history select * from moved', part)
        using awaited;
        get diagnostics moved = row_count;
    end if;
    if exists (
            select from errand_internal.retentions() where state <> 'failed' and keep > keep_history * interval '1 day')
    then
        execute format(
            'with moved as ('
            'delete from errand.%1$I where ctid = any (array('
            'select ended.ctid from errand.%1$I as ended join errand_internal.retentions() as rule using (kind, state) '
            'where ended.finished_at > now() - rule.keep limit 10000)) returning *) '
            'insert into errand.history select * from moved', part);
        get diagnostics others = row_count;
        moved := moved + others;
    end if;
    if moved > 0 then
        update errand.history_default
        set payload = errand_internal.take_payload(payload_day, id), payload_day = null
        where payload_day is not null and finished_at < now()::date - keep_history;
    end if;
    if moved = 0 then
        execute format('drop table errand.%I', part);
    end if;
    return true;
end
$$;
