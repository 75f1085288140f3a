-- check_api_names: raises ER422 for the kinds or queues of a token of the HTTP API that are none. Null is all of them.
create or replace function errand_internal.check_api_names(argument text, names text[]) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    wrong text;
begin
    if (cardinality(names) between 1 and 100) is false then
        raise exception 'put_api_token: %: expected 1 to 100 names, or null for all, got %', argument,
            cardinality(names) using errcode = 'ER422';
    end if;
    select min(coalesce(name, 'null')) into wrong
    from unnest(names) as name
    where (name ~ '^[a-z][a-z0-9_.-]{0,99}$') is not true;
    if wrong is not null then
        raise exception 'put_api_token: %: expected names of a-z, then up to 99 of a-z 0-9 _ . -, got %', argument,
            quote_literal(left(wrong, 120)) using errcode = 'ER422';
    end if;
end
$$;
