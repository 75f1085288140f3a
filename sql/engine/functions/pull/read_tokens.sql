-- read_tokens: returns what these tokens of errand.pull name, in their order; nulls for a text that is no token.
create or replace function errand_internal.read_tokens(tokens text[])
returns table (index bigint, token text, id bigint, worker_id bigint, queue_position bigint)
-- Not in SQL: that would be planned in each call.
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select
        given.index, given.token,
        -- lpad() also cuts off what is too long.
        case when is_token then ('x' || lpad(split_part(given.token, '.', 1), 16, '0'))::bit(64)::bigint end,
        case when is_token then ('x' || lpad(split_part(given.token, '.', 2), 16, '0'))::bit(64)::bigint end,
        case when is_token then ('x' || lpad(split_part(given.token, '.', 3), 16, '0'))::bit(64)::bigint end
    from unnest(tokens) with ordinality as given(token, index)
    cross join lateral (
        select given.token collate "C" ~ '^[0-9a-f]+[.][0-9a-f]+[.][0-9a-f]+$' offset 0) as form(is_token);
end
$$;
