-- user_of: returns the user of a virtual number. Spaces and hyphens in it don't matter.
--
--   select identity.user_of('804 717-1234');
--
-- Returns null for a number that was never assigned, or whose user was erased.
-- errand: for enqueuer, ops
create or replace function identity.user_of(number text) returns text
language sql stable security definer set search_path = pg_catalog, identity, pg_temp as $$
    select user_id
    from identity.number as existing
    where existing.number = regexp_replace(left(user_of.number, 100), E'[\\s-]', '', 'g')
$$;
