-- check_known: raises ER404 for a name that is not among the known ones, with the most similar of them in the hint.
-- expected describes these, and advice ends the hint.
create or replace function errand_internal.check_known(
    context text, expected text, given text, known text[], advice text default null
) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if (given = any (known)) is not true then
        raise exception '%: expected %, got %', context, expected, quote_nullable(left(given, 120))
            using errcode = 'ER404', hint = concat_ws(' ',
                coalesce(
                    'Is it ' || array_to_string(errand_internal.nearest(given, known, 3), ' or ') || '?',
                    'None is known.'),
                advice);
    end if;
end
$$;
