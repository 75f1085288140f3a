-- number_of: returns a user's virtual number; null if none was assigned.
--
--   select identity.number_of('user-17');
-- errand: for enqueuer, ops
create or replace function identity.number_of(user_id text) returns text
language sql stable security definer set search_path = pg_catalog, identity, pg_temp as $$
    select number from identity.number as existing where existing.user_id = number_of.user_id
$$;
