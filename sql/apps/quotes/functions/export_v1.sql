-- export_v1: returns a user's subscription, also an ended one; an empty object if there is none.
create or replace function quotes.export_v1(user_id text) returns jsonb
language sql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select coalesce(
        (
            select jsonb_build_object('subscription', to_jsonb(known))
            from quotes.subscription as known
            where known.user_id = export_v1.user_id
        ),
        '{}')
$$;
comment on function quotes.export_v1(text) is 'Returns all there is of a user in this app, as a JSON object';
