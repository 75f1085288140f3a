-- export_person: returns a user's display name. For people.export.
create or replace function people.export_person(user_id text) returns jsonb
language sql stable set search_path = pg_catalog, people, pg_temp as $$
    select coalesce(
        (
            select jsonb_build_object('display_name', display_name, 'renamed_at', renamed_at)
            from people.person
            where person.user_id = export_person.user_id
        ), '{}')
$$;
