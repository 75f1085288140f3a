-- remove_cards: removes a quote's cards with their objects, in the transaction that corrects it.
create or replace function quotes.remove_cards(quote_id int) returns void
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    folder uuid;
begin
    delete from quotes.card as existing where existing.quote_id = remove_cards.quote_id;
    if not found then
        return;
    end if;
    select quote.cards into folder from quotes.quote where id = remove_cards.quote_id for update;
    perform media.remove_folder('cards/' || folder || '/', 'its quote was corrected');
    update quotes.quote set cards = gen_random_uuid() where id = remove_cards.quote_id;
end
$$;
