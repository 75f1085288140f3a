-- put: adds a quote. With an id it corrects that quote, and returns it to the rotation if it was retired.
--
--   select quotes.put('Know thyself.', 'Inscription at Delphi', 'Wisdom', source => 'Plato, Protagoras');
--   select quotes.put('Know thyself.', 'Inscription at Delphi', 'Wisdom', id => 1001);
--
-- Returns its id. A correction shows at once, is told to the room `quotes`, and removes the quote's cards: they are
-- drawn anew when somebody asks for them. A new quote joins the rotation with the next cycle: stored days stay as they
-- are. Raises ER404 for an unknown id, ER409 if another quote has the same text, ER422 for missing or too long values.
-- errand: for ops
create or replace function quotes.put(
    text text, author text, category text, source text default null, id int default null
) returns int
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    quote_id int := put.id;
begin
    if coalesce(length(put.text), 0) not between 1 and 500 then
        raise exception 'put: text: expected 1 to 500 characters, got %', coalesce(length(put.text), 0)
            using errcode = 'ER422';
    elsif coalesce(length(put.author), 0) not between 1 and 200 then
        raise exception 'put: author: expected 1 to 200 characters, got %', coalesce(length(put.author), 0)
            using errcode = 'ER422';
    elsif length(put.source) not between 1 and 300 then
        raise exception 'put: source: expected 1 to 300 characters, got %', length(put.source) using errcode = 'ER422';
    elsif put.category is null or put.category !~ '^[A-Z][A-Za-z ]{0,49}$' then
        raise exception 'put: category: expected A-Z, then up to 49 letters and spaces, got %',
            quote_nullable(left(put.category, 100))
            using errcode = 'ER422', hint = 'Motivation, Love, Success, Wisdom, Humor, or another one.';
    end if;
    -- The quote must not join a cycle that users have seen a part of.
    perform quotes.rotate_v1();
    if exists (select from quotes.quote as existing where existing.text = put.text
        and existing.id is distinct from put.id) then
        raise exception 'put: there is a quote with this text' using errcode = 'ER409';
    elsif put.id is null then
        insert into quotes.quote as new (text, author, category, source)
        values (put.text, put.author, put.category, put.source)
        returning new.id into quote_id;
    else
        if exists (
            select from quotes.quote as existing
            where existing.id = put.id and (existing.text, existing.author) <> (put.text, put.author)
        ) then
            perform quotes.remove_cards(put.id);
        end if;
        update quotes.quote as existing
        set text = put.text, author = put.author, category = put.category, source = put.source, retired_at = null
        where existing.id = put.id;
        if not found then
            raise exception 'put: there is no quote %', put.id using errcode = 'ER404';
        end if;
        perform quotes.tell('corrected', put.id);
    end if;
    perform errand_internal.record_action(
        'quote_put', jsonb_build_object('quote', quote_id, 'text', put.text, 'author', put.author));
    return quote_id;
end
$$;
