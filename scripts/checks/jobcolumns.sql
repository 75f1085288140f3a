-- Prints a line for each column of a job that a move from table to table would lose, and each that isn't in the lists
-- of sql/engine/columns.sql, which psql has read before. Nothing if all is well.
with listed as (
    select btrim(name) as name
    from unnest(string_to_array(
        :'request_columns' || ', ' || :'attempt_columns' || ', id, payload, attempts', ',')) as name
),
columns as (
    select attrelid::regclass::text as object, attname as name, format_type(atttypid, atttypmod) as type, attnum
    from pg_attribute
    where attrelid = any ('{errand.job,errand.history,errand.failed,errand.moving_job}'::regclass[])
        and attnum > 0 and not attisdropped
),
tables(object) as (
    values ('errand.job'), ('errand.history'), ('errand.failed')
)
select format('%s lacks %s of sql/engine/columns.sql, or has it with another type than errand.job', object, name)
from tables
cross join listed
where not exists (
    select
    from columns as here
    join columns as live using (name, type)
    where here.object = tables.object and live.object = 'errand.job' and name = listed.name)
union all
select format('errand.moving_job lacks %s, so a job that moves to another cell loses it', btrim(name))
from unnest(string_to_array(:'request_columns', ',')) as name
where not exists (select from columns where object = 'errand.moving_job' and columns.name = btrim(name))
union all
-- What a job has only while it is in its queue.
select format('errand.job has %s, which is in no list of sql/engine/columns.sql', name)
from columns
where object = 'errand.job' and name not in (select name from listed)
    and name <> all ('{queue_position,payload_day,payload_bytes,is_handed_back,state,parked_for}')
union all
select 'errand.job, errand.history and errand.failed have their columns in different orders'
where 1 < (
    select count(distinct names)
    from (
        select string_agg(name, ' ' order by attnum) as names
        from columns
        where object in (select object from tables) and name in (select name from listed)
        group by object) as ordered);
