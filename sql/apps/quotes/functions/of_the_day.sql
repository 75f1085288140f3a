-- of_the_day: returns the quote of a calendar day, by default today's in UTC. It is the same for all users with that
-- date.
--
--   select text, author from quotes.of_the_day();
--   select text, author from quotes.of_the_day((now() at time zone 'Asia/Tokyo')::date);
--
-- It needs no row and no worker: without a stored row the rule returns the same quote. No row before 2020, and if there
-- are no quotes. Raises ER422 for a day more than 20 years ahead.
-- errand: for enqueuer, ops
create or replace function quotes.of_the_day(day date default (now() at time zone 'UTC')::date)
returns table (quote_id int, text text, author text, source text, category text)
language plpgsql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    wanted constant date := $1;
    cycle quotes.cycle;
    shown int;
begin
    select written.quote_id into shown from quotes.day as written where written.day = wanted;
    if shown is null then
        cycle := quotes.cycle_on(wanted);
        shown := cycle.quote_ids[wanted - cycle.first_day + 1];
    end if;
    return query
    select quote.id, quote.text, quote.author, quote.source, quote.category
    from quotes.quote
    where quote.id = shown;
end
$$;
