-- user_room: returns the room that a user's devices join.
--
--   select rooms.user_room('user-17');
--
-- Raises ER422 for a user that is not 1 to 200 characters long.
-- errand: for enqueuer, ops
create or replace function rooms.user_room(user_id text) returns text
language plpgsql immutable security definer set search_path = pg_catalog, rooms, pg_temp as $$
begin
    if coalesce(length(user_id), 0) not between 1 and 200 then
        raise exception 'user_room: user_id: expected 1 to 200 characters, got %',
            coalesce(length(user_id)::text, 'null') using errcode = 'ER422';
    end if;
    return 'user:' || user_id;
end
$$;
