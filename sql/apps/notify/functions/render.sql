-- render: returns a text with its words filled in: {name} by the word of that name, or nothing, and {name|someone} by
-- someone if there is none.
create or replace function notify.render(template text, words jsonb) returns text
language sql immutable set search_path = pg_catalog, notify, pg_temp as $$
    select string_agg(literal || coalesce(value, ''), '' order by number)
    from regexp_split_to_table(template, E'\\{[a-z_]+(?:\\|[^{}]*)?\\}') with ordinality as part (literal, number)
    left join (
        select number, coalesce(words ->> found[1], found[2]) as value
        from regexp_matches(template, E'\\{([a-z_]+)(?:\\|([^{}]*))?\\}', 'g') with ordinality as word (found, number)
    ) as word using (number)
$$;
