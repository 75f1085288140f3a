-- card_to_draw_v1: returns what the job needs to know of a card; no row if it is drawn already, or if its quote was
-- corrected.
create or replace function quotes.card_to_draw_v1(card uuid)
returns table (text text, author text, template text, appearance text, format text)
language sql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select quote.text, quote.author, existing.template, existing.appearance, existing.format
    from quotes.card as existing
    join quotes.quote on quote.id = existing.quote_id
    where existing.id = card_to_draw_v1.card and existing.drawn_at is null
$$;
