-- check_fields: raises ER422 for an object that has a field twice: jsonb would have the last one alone.
create or replace function errand_internal.check_fields(context text, request json) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    twice constant text := (
        select name from json_object_keys(request) as name group by name having count(*) > 1 limit 1);
begin
    if twice is not null then
        raise exception '%: expected each field once, got % twice', context, quote_literal(left(twice, 120))
            using errcode = 'ER422';
    end if;
end
$$;
