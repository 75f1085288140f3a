-- card: returns a quote's card, an image in the object store, and enqueues the job that draws it if nobody has asked
-- for it before.
--
--   select state, key from quotes.card(17, template => 'sky', appearance => 'dark');
--
-- template is paper, sky, blossom or slate; appearance light or dark; format square (1080 x 1080 pixels), story
-- (1080 x 1920) or wide (1200 x 630). state is one of
--   drawing   the image comes within seconds
--   stored    the object key is in the store
--   failed    error says why; the same call tries it again
-- After a correction of the quote, its cards are drawn anew under other keys, and the old objects are removed.
--
-- Raises ER404 for an unknown quote, ER422 for another template, appearance or format.
-- errand: for enqueuer, ops
create or replace function quotes.card(
    quote_id int, template text default 'paper', appearance text default 'light', format text default 'square'
) returns table (state text, key text, width int, height int, error text)
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    folder uuid;
    existing quotes.card;
begin
    if card.template is null or card.template not in ('paper', 'sky', 'blossom', 'slate') then
        raise exception 'card: template: expected paper, sky, blossom or slate, got %',
            quote_nullable(left(card.template, 50)) using errcode = 'ER422';
    elsif card.appearance is null or card.appearance not in ('light', 'dark') then
        raise exception 'card: appearance: expected light or dark, got %', quote_nullable(left(card.appearance, 50))
            using errcode = 'ER422';
    elsif card.format is null or card.format not in ('square', 'story', 'wide') then
        raise exception 'card: format: expected square, story or wide, got %', quote_nullable(left(card.format, 50))
            using errcode = 'ER422';
    end if;
    -- A correction waits for this transaction, and then removes this card too.
    select quote.cards into folder from quotes.quote where id = card.quote_id for share;
    if not found then
        raise exception 'card: there is no quote %', card.quote_id using errcode = 'ER404';
    end if;
    -- On any conflict: of two calls at the same time, one may meet the other's key first.
    insert into quotes.card (quote_id, template, appearance, format, key)
    values (
        card.quote_id, card.template, card.appearance, card.format,
        format('cards/%s/%s-%s-%s.jpg', folder, card.template, card.appearance, card.format))
    on conflict do nothing;
    select * into strict existing
    from quotes.card as target
    where (target.quote_id, target.template, target.appearance, target.format)
        = (card.quote_id, card.template, card.appearance, card.format);
    if existing.drawn_at is null and (existing.job_id is null or existing.error is not null) then
        select job_id into existing.job_id
        from errand.enqueue(
            'quote_card', jsonb_build_object('card', existing.id), queue => 'images', max_attempts => 4,
            unique_key => 'quote_card/' || existing.id);
        update quotes.card as target set job_id = existing.job_id, error = null where target.id = existing.id;
    end if;
    return query select shown.state, shown.key, shown.width, shown.height, shown.error
    from quotes.card_status as shown
    where shown.id = existing.id;
end
$$;
