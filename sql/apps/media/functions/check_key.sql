-- check_key: raises ER422 for a text that is no key of the object store.
create or replace function media.check_key(context text, key text) returns void
language plpgsql immutable set search_path = pg_catalog, media, pg_temp as $$
begin
    if key is null or length(key) > 1024
        or key !~ '^[A-Za-z0-9_+@-][A-Za-z0-9._+@-]{0,199}(/[A-Za-z0-9_+@-][A-Za-z0-9._+@-]{0,199})*$'
    then
        raise exception '%: expected parts of a-z A-Z 0-9 . _ - + @ joined by /, got %', context,
            quote_nullable(left(key, 100)) using errcode = 'ER422';
    end if;
end
$$;
