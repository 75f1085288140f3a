-- erase_person: deletes a user's subscription, also an ended one. Returns the number of rows.
create or replace function quotes.erase_person(user_id text) returns bigint
language sql security definer set search_path = pg_catalog, quotes, pg_temp as $$
    with gone as (
        delete from quotes.subscription as existing where existing.user_id = erase_person.user_id returning 1
    )
    select count(*) from gone
$$;
