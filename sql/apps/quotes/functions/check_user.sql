-- check_user: raises ER422 for a user id that is not 1 to 200 characters long.
create or replace function quotes.check_user(context text, user_id text) returns void
language plpgsql immutable set search_path = pg_catalog, quotes, pg_temp as $$
begin
    if coalesce(length(user_id), 0) not between 1 and 200 then
        raise exception '%: user_id: expected 1 to 200 characters, got %',
            context, coalesce(length(user_id)::text, 'null') using errcode = 'ER422';
    end if;
end
$$;
comment on function quotes.check_user(text, text) is 'Raises ER422 for a user id of no or too many characters';
