-- set_profile: sets how phones present a kind of notification, and its texts. Notifications that wait follow it.
--
--   select notify.set_profile('new_moment', '{"fr": {"title": "{name|Ta moitié}", "body": "Un nouveau moment"}}');
--   select notify.set_profile('new_moment', style => '{"wakes": true, "thread": "moments", "sound": null}');
--
-- texts has an object with title and body for each language, such as en, fr or pt-br; null instead of an object removes
-- the language. {name} in a text is filled in by the word `name` of notify.send, and {name|someone} by someone if it
-- has none. style has some of
--   wakes       the push wakes the app, so that its widget is fresh. Google's phones then show nothing by themselves:
--               the app gets title, body and channel as data, and shows them
--   is_mutable  the app's extension at Apple may change it before it is shown
--   is_urgent   false: delivered when it suits the battery
--   sound       Apple's; null = silent
--   badge, category, thread (Apple's), channel (Google's), collapse (for calls without one); null removes them
-- All else stays as it is. A new kind has the default sound and is urgent.
--
-- Raises ER422 for a name that isn't a-z, 0-9 and _, for an unknown member, and for values of another type.
-- errand: for ops
create or replace function notify.set_profile(name text, texts jsonb default '{}', style jsonb default '{}')
returns void
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp as $$
#variable_conflict use_column
declare
    types constant jsonb := '{"wakes": "boolean", "is_mutable": "boolean", "is_urgent": "boolean", "badge": "number",
        "sound": "string", "category": "string", "thread": "string", "channel": "string", "collapse": "string"}';
    wrong record;
begin
    if $1 is null or $1 !~ '^[a-z][a-z0-9_]{0,49}$' then
        raise exception 'set_profile: name: expected a-z, 0-9 and _, 50 at most, got %', quote_nullable(left($1, 100))
            using errcode = 'ER422';
    elsif jsonb_typeof($2) is distinct from 'object' or jsonb_typeof($3) is distinct from 'object' then
        raise exception 'set_profile: texts and style: expected objects, got % and %',
            coalesce(jsonb_typeof($2), 'null'), coalesce(jsonb_typeof($3), 'null') using errcode = 'ER422';
    end if;
    select member.key, jsonb_typeof(member.value) as type, types ->> member.key as expected into wrong
    from jsonb_each($3) as member
    where types -> member.key is null
        or jsonb_typeof(member.value) <> types ->> member.key
        and (jsonb_typeof(member.value) <> 'null' or types ->> member.key = 'boolean')
    limit 1;
    if found then
        raise exception 'set_profile: style: expected %, got % at %',
            coalesce(
                'a ' || wrong.expected,
                'one of ' || (select string_agg(key, ', ') from jsonb_object_keys(types) as key)),
            wrong.type, quote_literal(left(wrong.key, 100)) using errcode = 'ER422';
    end if;
    select key, case jsonb_typeof(value) when 'object' then 'other members' else jsonb_typeof(value) end as type
    into wrong
    from jsonb_each($2)
    where key !~ '^[a-z]{2,3}(-[a-z0-9]{2,8})*$'
        or jsonb_typeof(value) not in ('object', 'null')
        or jsonb_typeof(value) = 'object' and (
            value - '{title,body}'::text[] <> '{}'
            or coalesce(jsonb_typeof(value -> 'title'), 'string') not in ('string', 'null')
            or coalesce(jsonb_typeof(value -> 'body'), 'string') not in ('string', 'null')
            or '' in (value ->> 'title', value ->> 'body'))
    limit 1;
    if found then
        raise exception 'set_profile: texts: expected languages in small letters with a title and a body, got % at %',
            wrong.type, quote_literal(left(wrong.key, 100)) using errcode = 'ER422';
    end if;
    if ($3 ->> 'badge')::numeric not between 0 and 1000000 or ($3 ->> 'badge')::numeric % 1 <> 0 then
        raise exception 'set_profile: style: expected a badge of 0 or more, got %', $3 ->> 'badge'
            using errcode = 'ER422';
    end if;
    insert into notify.profile (name) values ($1) on conflict on constraint profile_pkey do nothing;
    update notify.profile as existing
    set wakes = coalesce(($3 ->> 'wakes')::boolean, wakes),
        is_mutable = coalesce(($3 ->> 'is_mutable')::boolean, is_mutable),
        is_urgent = coalesce(($3 ->> 'is_urgent')::boolean, is_urgent),
        badge = case when $3 ? 'badge' then ($3 ->> 'badge')::int else badge end,
        sound = case when $3 ? 'sound' then $3 ->> 'sound' else sound end,
        category = case when $3 ? 'category' then $3 ->> 'category' else category end,
        thread = case when $3 ? 'thread' then $3 ->> 'thread' else thread end,
        channel = case when $3 ? 'channel' then $3 ->> 'channel' else channel end,
        collapse = case when $3 ? 'collapse' then $3 ->> 'collapse' else collapse end
    where existing.name = $1;
    delete from notify.profile_text as existing
    using jsonb_each($2)
    where existing.profile = $1 and existing.locale = key;
    insert into notify.profile_text (profile, locale, title, body)
    select $1, key, value ->> 'title', value ->> 'body'
    from jsonb_each($2)
    where jsonb_typeof(value) = 'object';
end
$$;
