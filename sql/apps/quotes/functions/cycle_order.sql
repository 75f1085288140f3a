-- cycle_order: the order in which a cycle shows the quotes that are in the rotation now.
--
-- By lot, with the cycle's number and the quote's id as the key: the same everywhere and always. Before the lot, those that
-- the first half of the cycle before has shown, and new ones, come first; so between two days of one quote at least half of
-- all are shown, over the seam too.
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
comment on function quotes.cycle_order(int, int[]) is 'The order of a cycle, from its number and the order of the one before';
