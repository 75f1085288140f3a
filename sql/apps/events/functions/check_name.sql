-- check_name: raises ER422 for a name that is not 1 to 100 characters long; null is no name.
create or replace function events.check_name(context text, name text) returns void
language plpgsql immutable set search_path = pg_catalog, events, pg_temp as $$
begin
    if length(name) not between 1 and 100 then
        raise exception '%: name: expected 1 to 100 characters or null, got %', context, length(name)
            using errcode = 'ER422';
    end if;
end
$$;
