-- clear: drops all that errand_internal.front_script has made, before it makes it anew in the same transaction.
--
-- Those are the functions and views of the schema errand, and what in errand_front has no comment.
create or replace function errand_front.clear() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    old text;
begin
    for old in select oid::regclass::text from pg_class
        where relnamespace = 'errand'::regnamespace and relkind = 'v'
    loop
        execute 'drop view ' || old;
    end loop;
    for old in select oid::regprocedure::text from pg_proc
        where pronamespace = 'errand'::regnamespace
            or pronamespace = 'errand_front'::regnamespace and obj_description(oid, 'pg_proc') is null
    loop
        execute 'drop function ' || old;
    end loop;
end
$$;
