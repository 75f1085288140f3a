-- write_days: stores the missing quotes of all days from the day before `today` to 8 days after it. Returns their
-- number.
--
-- Eight days, so that seven are stored until the next run in every time zone. After a downtime the days of the downtime
-- are stored too. One session at a time: it locks the table of cycles.
create or replace function quotes.write_days(today date) returns int
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    last_day constant date := write_days.today + 8;
    cycle quotes.cycle;
    written int;
begin
    lock table quotes.cycle in share row exclusive mode;
    loop
        -- The last stored cycle, or none: the rule continues from there.
        select * into cycle from quotes.cycle order by number desc limit 1;
        exit when cycle.first_day + cardinality(cycle.quote_ids) > last_day;
        cycle := quotes.cycle_on(coalesce(cycle.first_day + cardinality(cycle.quote_ids), date '2020-01-01'));
        exit when cycle.number is null;
        insert into quotes.cycle (number, first_day, quote_ids)
        values (cycle.number, cycle.first_day, cycle.quote_ids);
    end loop;
    insert into quotes.day (day, quote_id)
    select wanted.day, cycle.quote_ids[wanted.day - cycle.first_day + 1]
    from (
        select day::date as day
        from generate_series(
            least(today - 1, (select max(day) + 1 from quotes.day))::timestamp, last_day::timestamp, interval '1 day'
        ) as day
    ) as wanted
    join quotes.cycle
        on wanted.day >= cycle.first_day and wanted.day < cycle.first_day + cardinality(cycle.quote_ids)
    on conflict (day) do nothing;
    get diagnostics written = row_count;
    return written;
end
$$;
