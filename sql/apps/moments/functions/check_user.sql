-- check_user: raises ER422 for a user that is not 1 to 200 characters long.
create or replace function moments.check_user(context text, user_id text) returns void
language plpgsql immutable set search_path = pg_catalog, moments, pg_temp as $$
begin
    if coalesce(length(check_user.user_id), 0) not between 1 and 200 then
        raise exception '%: expected 1 to 200 characters, got %',
            context, coalesce(length(check_user.user_id)::text, 'null') using errcode = 'ER422';
    end if;
end
$$;
comment on function moments.check_user(text, text) is 'Raises ER422 for a user that is not 1 to 200 characters long';
