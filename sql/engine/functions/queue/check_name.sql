-- check_name: raises ER422 for a name that no signal and no step may have.
create or replace function errand_internal.check_name(context text, name text) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if (length(name) between 1 and 200 and name !~ '[[:cntrl:]]') is not true then
        raise exception '%: name: expected 1 to 200 characters, got %', context,
            coalesce(quote_literal(left(name, 120)), 'null') using errcode = 'ER422';
    end if;
end
$$;
