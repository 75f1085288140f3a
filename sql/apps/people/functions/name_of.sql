-- name_of: returns a user's display name; null if none was set.
--
--   select people.name_of('user-17');
-- errand: for enqueuer, ops
create or replace function people.name_of(user_id text) returns text
language sql stable security definer set search_path = pg_catalog, people, pg_temp as $$
    select display_name from people.person where person.user_id = name_of.user_id
$$;
