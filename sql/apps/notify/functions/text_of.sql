-- text_of: returns the texts of a kind of notification in a language: that of the locale with its region, without it,
-- English, or else the first that there is.
-- errand: after render
create or replace function notify.text_of(profile text, locale text, words jsonb)
returns table (title text, body text)
language sql stable set search_path = pg_catalog, notify, pg_temp as $$
    with wanted as (
        select lower(replace(text_of.locale, '_', '-') collate "C") as name
    )
    select notify.render(existing.title, text_of.words), notify.render(existing.body, text_of.words)
    from notify.profile_text as existing
    cross join wanted
    where existing.profile = text_of.profile
    order by
        array_position(array[wanted.name, split_part(wanted.name, '-', 1), 'en'], existing.locale) nulls last,
        existing.locale
    limit 1
$$;
