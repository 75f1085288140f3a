-- tell: sends an event to the Socket.IO room `quotes` at commit, so that open apps fetch what has changed. It has ids
-- only.
create or replace function quotes.tell(what text, quote_id int default null, card uuid default null) returns void
language sql set search_path = pg_catalog, quotes, pg_temp as $$
    select rooms.emit(
        'quotes', tell.what,
        jsonb_strip_nulls(jsonb_build_object('quote_id', tell.quote_id::text, 'card_id', tell.card)))
$$;
