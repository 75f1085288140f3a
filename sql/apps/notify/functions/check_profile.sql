-- check_profile: raises ER422 for an unknown kind of notification and for words that are no object of texts, ER413 if
-- it is too long in one of its languages.
-- errand: after check_size, style_of, render
create or replace function notify.check_profile(
    context text, profile text, title text, body text, data jsonb, words jsonb
) returns void
language plpgsql stable set search_path = pg_catalog, notify, pg_temp as $$
#variable_conflict use_variable
declare
    style constant jsonb := notify.style_of(profile);
    text record;
begin
    if style is null then
        raise exception '%: profile: expected one of %, got %', context,
            coalesce((select string_agg(name, ', ' order by name) from notify.profile), 'none that is set'),
            quote_literal(left(profile, 100))
            using errcode = 'ER422', hint = 'select notify.set_profile(…) makes one.';
    elsif jsonb_typeof(words) is distinct from 'object'
        or exists (select from jsonb_each(words) where jsonb_typeof(value) not in ('string', 'null'))
    then
        raise exception '%: words: expected an object with texts, got %', context, coalesce(jsonb_typeof(words), 'null')
            using errcode = 'ER422';
    end if;
    for text in
        select
            coalesce(title, notify.render(existing.title, words)) as title,
            coalesce(body, notify.render(existing.body, words)) as body
        from (select 1) as one
        left join notify.profile_text as existing on existing.profile = check_profile.profile
    loop
        perform notify.check_size(context, text.title, text.body, data, style);
    end loop;
end
$$;
