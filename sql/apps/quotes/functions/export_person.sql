-- export_person: returns a user's subscription, also an ended one; an empty object if there is none.
create or replace function quotes.export_person(user_id text) returns jsonb
language sql stable security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select coalesce(
        (
            select jsonb_build_object('subscription', to_jsonb(existing))
            from quotes.subscription as existing
            where existing.user_id = export_person.user_id
        ),
        '{}')
$$;
