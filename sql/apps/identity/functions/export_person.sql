-- export_person: returns all there is of a user in this app: the number, and when it was assigned. {} if there is none.
create or replace function identity.export_person(user_id text) returns jsonb
language sql stable security definer set search_path = pg_catalog, identity, pg_temp as $$
    select coalesce(
        (
            select jsonb_build_object('number', number, 'assigned_at', assigned_at)
            from identity.number as existing
            where existing.user_id = export_person.user_id
        ),
        '{}')
$$;
