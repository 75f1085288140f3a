-- check_circuit: raises ER422 for a name that no circuit can have. context begins the message.
create or replace function errand_internal.check_circuit(context text, name text) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if name is null or name !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception '%: name: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            context, coalesce(quote_literal(left(name, 120)), 'null') using errcode = 'ER422';
    end if;
end
$$;
