-- check_account: raises ER422 for a `who` over 200 characters or a `why` over 1,000.
create or replace function activity.check_account(context text, who text, why text default null) returns void
language plpgsql immutable set search_path = pg_catalog, activity, pg_temp as $$
begin
    if length(who) > 200 then
        raise exception '%: who: expected at most 200 characters, got %', context, length(who) using errcode = 'ER422';
    elsif length(why) > 1000 then
        raise exception '%: why: expected at most 1000 characters, got %', context, length(why) using errcode = 'ER422';
    end if;
end
$$;
