-- make_partitions: creates the partitions of errand.history and errand.payload for today and days_ahead days after
-- it, up to 31. Returns the number that it created.
--
-- Days are days in UTC. Jobs are enqueued and completed meanwhile: a table is created alone and then attached. That
-- locks only the default partition, for as long as its scan takes; it is empty as a rule. Raises 55P03 and changes
-- nothing if another session creates or drops partitions, or reads one of the tables as a whole, for longer than 40 ms:
-- call it again later. Raises ER422 for another number of days.
--
-- If maintenance comes late, jobs of today have ended in history_default. Those stay there and are deleted row by row
-- when their time is over. The partition has the rest of the day, from the next full hour on. If payload_default holds
-- payloads of a day, all payloads of that day go there.
create or replace function errand_internal.make_partitions(days_ahead int default 3) returns int
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set lock_timeout = '40ms' set timezone = 'UTC'
as $$
declare
    part_day date;
    part text;
    begins timestamptz;
    made int := 0;
begin
    if days_ahead is null or days_ahead not between 0 and 31 then
        raise exception 'make_partitions: days_ahead: expected 0 to 31, got %', coalesce(days_ahead::text, 'null')
            using errcode = 'ER422';
    end if;
    lock table errand.partitions_lock in share update exclusive mode;
    for part_day in select now()::date + ahead from generate_series(0, days_ahead) as ahead loop
        part := 'history_' || to_char(part_day, 'YYYYMMDD');
        continue when to_regclass('errand.' || part) is not null;
        -- Rows in history_default can't be in a partition of their own. Until the next hour more may go there.
        select case
                when max(finished_at) is null then part_day
                else date_trunc('hour', greatest(max(finished_at), now() + interval '1 minute')) + interval '1 hour'
            end
        into begins
        from errand.history_default
        where finished_at >= part_day and finished_at < part_day + 1;
        continue when begins >= part_day + 1;
        execute format('create table errand.%I (like errand.history including all)', part);
        -- Without a primary key, a publication for all tables would make every delete fail.
        execute format('alter table errand.%I replica identity full', part);
        execute format('comment on table errand.%I is %L', part, 'Jobs that ended on ' || part_day || ' (UTC)');
        execute format(
            'alter table errand.history attach partition errand.%I for values from (%L) to (%L)',
            part, begins, (part_day + 1)::timestamptz);
        made := made + 1;
    end loop;
    for part_day in select now()::date + ahead from generate_series(0, days_ahead) as ahead loop
        part := 'payload_' || to_char(part_day, 'YYYYMMDD');
        continue when to_regclass('errand.' || part) is not null
            or exists (select from errand.payload_default where day = part_day);
        execute format('create table errand.%I (like errand.payload including all)', part);
        execute format(
            'comment on table errand.%I is %L',
            part, 'Payloads of jobs that were enqueued on ' || part_day || ' (UTC)');
        execute format('alter table errand.payload attach partition errand.%I for values in (%L)', part, part_day);
        made := made + 1;
    end loop;
    return made;
end
$$;
