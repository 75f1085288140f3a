-- write_days: writes down the quotes of all days that are not written yet, from the day before `today` to 8 days after it.
--
-- Eight, so that seven are there until the next run, wherever on Earth it is later already. After a downtime the days of
-- that are written too. Answers how many were written. One at a time: it holds the table of cycles.
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
        -- The last that is written, or none: from there the rule goes on.
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
comment on function quotes.write_days(date) is 'Writes down the quotes of the days around the given one; answers how many';
