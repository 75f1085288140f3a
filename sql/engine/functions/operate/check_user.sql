-- check_user: raises ER422 for a user that is not 1 to 200 characters long. For the functions of apps.
--
--   perform errand_internal.check_user('send', sender, 'sender');
--
-- The message begins with the called function and the name of its argument.
create or replace function errand_internal.check_user(
    context text, user_id text, argument text default 'user_id'
) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if coalesce(length(check_user.user_id), 0) not between 1 and 200 then
        raise exception '%: %: expected 1 to 200 characters, got %',
            context, argument, coalesce(length(check_user.user_id)::text, 'null') using errcode = 'ER422';
    end if;
end
$$;
