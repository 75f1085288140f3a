-- drop_payloads: makes one step towards dropping the partitions of errand.payload that are older than keep_history
-- days. Returns whether there is more to do.
--
-- Unfinished jobs take their payloads into their rows, up to 1,000 in a step, so that one job does not keep a day. A
-- partition without references from jobs and the history is detached, then dropped. New references are to today, so
-- none appears meanwhile; a session that is about to store an older one has locked the partition. Raises 55P03 if a
-- session reads payloads for longer than 40 ms, because enqueues and claims of such jobs would wait behind the lock.
create or replace function errand_internal.drop_payloads(keep_history int) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp set lock_timeout = '40ms' set timezone = 'UTC'
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    part record;
    unfinished bigint[];
begin
    for part in
        select relname as name, relispartition as is_attached, to_date(right(relname, 8), 'YYYYMMDD') as day
        from pg_class
        where relnamespace = 'errand'::regnamespace and relkind = 'r' and relname ~ E'^payload_\\d{8}$'
            and to_date(right(relname, 8), 'YYYYMMDD') < now()::date - keep_history
        order by relispartition, relname
    loop
        if not part.is_attached then
            execute format('drop table errand.%I', part.name);
            return true;
        end if;
        -- By the ids: an index of the days would take 8 us of each enqueue. Few jobs are unfinished for so long.
        unfinished := array(
            select id
            from errand.job
            where id <= (select max(job_id) from errand.payload where day = part.day) and payload_day = part.day
            limit 1000);
        update errand.job
        set payload = errand_internal.take_payload(payload_day, id)
        where id = any (array(select id from errand.job where id = any (unfinished) for update skip locked))
            and payload_day = part.day;
        if found then
            return true;
        elsif unfinished = '{}' and not exists (select from errand.history where payload_day = part.day) then
            execute format('alter table errand.payload detach partition errand.%I', part.name);
            return true;
        end if;
    end loop;
    return false;
end
$$;
