-- names: returns whether a job is about a person: whether the user's id is a string anywhere in the payload, a number
-- in its member user_id or user, a tag, or a part of the unique key or the limit key between slashes or colons.
create or replace function errand.names(
    user_id text, payload jsonb, tags text[], unique_key text, limit_key text
) returns boolean
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(
            strpos(payload::text, substr(to_json(names.user_id)::text, 2, length(to_json(names.user_id)::text) - 2)) > 0
            and (
                payload @? format('$.** ? (@ == %s)', to_json(names.user_id))::jsonpath
                or names.user_id in (payload ->> 'user_id', payload ->> 'user')),
            false)
        or coalesce(names.user_id = any (tags) or 'user:' || names.user_id = any (tags), false)
        or strpos(unique_key || '', names.user_id) > 0
            and names.user_id = any (regexp_split_to_array(unique_key, '[/:]') || unique_key)
        or strpos(limit_key || '', names.user_id) > 0
            and names.user_id = any (regexp_split_to_array(limit_key, '[/:]') || limit_key)
$$;
comment on function errand.names(text, jsonb, text[], text, text) is 'Returns whether a job is about a person';
