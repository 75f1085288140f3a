-- cycle_order: returns the order in which a cycle shows the quotes of the rotation.
--
-- The order is pseudo-random, keyed by the cycle's number and the quote's id: the same everywhere and always. Quotes
-- from the first half of the cycle before, and new ones, come first. So at least half of all quotes are shown between
-- two days of one quote, also across cycles.
create or replace function quotes.cycle_order(number int, before int[]) returns int[]
language sql stable set search_path = pg_catalog, quotes, pg_temp as $$
    with shown as (
        select quote.id, row_number() over (order by index) as index, count(*) over () as quotes
        from unnest(before) with ordinality as earlier(id, index)
        join quotes.quote on quote.id = earlier.id
        where retired_at is null
    )
    select array_agg(
        quote.id
        order by
            coalesce(index > (quotes + 1) / 2, false),
            sha256(convert_to('quotes/' || cycle_order.number || '/' || quote.id, 'UTF8'))
    )
    from quotes.quote
    left join shown on shown.id = quote.id
    where retired_at is null
$$;
