-- make_partitions_v1: makes the history's partitions of today and of days_ahead days after it. Returns how many it
-- made.
--
-- Days are days in UTC. Jobs complete meanwhile: a table is made by itself and then attached, which locks
-- history_default alone, for as long as a scan of it takes (it is empty as a rule). Raises 55P03 and changes nothing
-- where somebody reads the whole history for longer than 40 ms; call it again later.
create or replace function errand.make_partitions_v1(days_ahead int default 3) returns int
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp set lock_timeout = '40ms' set timezone = 'UTC'
as $$
declare
    day date;
    part text;
    made int := 0;
begin
    for day in select now()::date + ahead from generate_series(0, days_ahead) as ahead loop
        part := 'history_' || to_char(day, 'YYYYMMDD');
        continue when to_regclass('errand.' || part) is not null;
        -- A day whose rows are in history_default already stays there: it can't have a partition of its own.
        continue when exists (
            select from errand.history_default where finished_at >= day and finished_at < day + 1);
        execute format('create table errand.%I (like errand.history including all)', part);
        execute format('comment on table errand.%I is %L', part, 'Jobs that ended on ' || day || ' (UTC)');
        execute format(
            'alter table errand.history attach partition errand.%I for values from (%L) to (%L)',
            part, day::timestamptz, (day + 1)::timestamptz);
        made := made + 1;
    end loop;
    return made;
end
$$;
comment on function errand.make_partitions_v1(int) is
    'Housekeeping: makes the history''s partitions of today and the days ahead; returns how many';
