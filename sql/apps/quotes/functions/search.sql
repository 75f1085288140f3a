-- search: returns quotes by words, category and author, in the order of their ids, in pages.
--
--   select id, text, author from quotes.search('know thyself');
--   select id, text, author from quotes.search(in_category => 'Wisdom', after => 17, most => 20);
--   select id, text from quotes.search(by_author => 'Seneca');
--
-- words is what people type into a search box: all words in any form, "a phrase", or, -not. in_category and by_author
-- are names as quotes.categories and quotes.authors have them. after is the id of the last quote of the page before.
-- Retired quotes are left out. Raises ER422 for a page that isn't 1 to 1,000 quotes.
-- errand: for enqueuer, ops
create or replace function quotes.search(
    words text default null, in_category text default null, by_author text default null, after int default null,
    most int default 50
) returns table (id int, text text, author text, source text, category text)
language plpgsql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
begin
    if $5 is null or $5 not between 1 and 1000 then
        raise exception 'search: most: expected 1 to 1000, got %', coalesce($5::text, 'null') using errcode = 'ER422';
    end if;
    return query
    select existing.id, existing.text, existing.author, existing.source, existing.category
    from quotes.quote as existing
    where existing.retired_at is null
        and ($1 is null or to_tsvector('english', existing.text || ' ' || existing.author)
            @@ websearch_to_tsquery('english', $1))
        and ($2 is null or existing.category = $2)
        and ($3 is null or existing.author = $3)
        and ($4 is null or existing.id > $4)
    order by existing.id
    limit $5;
end
$$;
