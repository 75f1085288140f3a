-- cycle_on: returns the cycle of a day: the stored one, or else the one that the rule derives from the last stored
-- cycle.
--
-- Null if there is no quote, and before 2020-01-01, when the first cycle began. A cycle that is not stored costs about
-- a millisecond. Raises ER422 for a day more than 20 years ahead.
create or replace function quotes.cycle_on(day date) returns quotes.cycle
language plpgsql stable set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    found quotes.cycle;
begin
    if cycle_on.day > (now() at time zone 'UTC')::date + 7305 then
        raise exception 'of_the_day: day: expected at most 20 years ahead, got %', cycle_on.day using errcode = 'ER422';
    elsif cycle_on.day < date '2020-01-01' then
        return null;
    end if;
    select * into found
    from quotes.cycle
    where first_day <= cycle_on.day
    order by first_day desc
    limit 1;
    if found.number is null then
        found := (0, date '2020-01-01', '{}');
    end if;
    while cycle_on.day >= found.first_day + cardinality(found.quote_ids) loop
        found := (
            found.number + 1, found.first_day + cardinality(found.quote_ids),
            quotes.cycle_order(found.number + 1, found.quote_ids));
        if found.quote_ids is null then
            return null;
        end if;
    end loop;
    return found;
end
$$;
