-- mentions: returns whether a text has a word, between characters that are no letters and digits. False for a word
-- under 3 characters, which any text may have by chance.
create or replace function errand.mentions(content text, word text) returns boolean
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(
        length(word) >= 3 and strpos(content, word) > 0
            and content ~ (
                '(^|[^[:alnum:]])' || regexp_replace(word, E'([][\\\\.^$*+?(){}|-])', E'\\\\\\1', 'g')
                || '($|[^[:alnum:]])'),
        false)
$$;
comment on function errand.mentions(text, text) is 'Returns whether a text has a word of at least 3 characters';
