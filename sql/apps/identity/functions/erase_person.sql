-- erase_person: removes a user from the user's number. The number stays, so that it is never assigned again. Returns
-- the number of changed rows.
create or replace function identity.erase_person(user_id text) returns bigint
language sql security definer set search_path = pg_catalog, identity, pg_temp as $$
    with erased as (
        update identity.number as existing
        set user_id = null
        where existing.user_id = erase_person.user_id
        returning 1
    )
    select count(*) from erased
$$;
