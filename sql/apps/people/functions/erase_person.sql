-- erase_person: removes a user's display name. Returns the number of rows. For people.erase.
create or replace function people.erase_person(user_id text) returns bigint
language sql set search_path = pg_catalog, people, pg_temp as $$
    with gone as (
        delete from people.person where person.user_id = erase_person.user_id returning 1
    )
    select count(*) from gone
$$;
