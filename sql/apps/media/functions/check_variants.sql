-- check_variants: raises ER422 for what is no array of up to four variants. Each is an object with a name and a
-- max_edge of its own. Without max_bytes or format it has those of the result.
--
-- Returns the variants with all four fields, by name, so that the same variants are equal.
create or replace function media.check_variants(
    context text, variants jsonb, max_bytes int, format text
) returns jsonb
language plpgsql immutable set search_path = pg_catalog, media, pg_temp as $$
declare
    fields constant text[] := '{name,max_bytes,max_edge,format}';
    checked jsonb := '{}';
    variant jsonb;
    field text;
    lowest int;
    highest int;
    got text;
begin
    if variants is null or jsonb_typeof(variants) <> 'array' then
        raise exception '%: expected a JSON array, got %', context, coalesce(left(variants::text, 100), 'null')
            using errcode = 'ER422';
    elsif jsonb_array_length(variants) > 4 then
        raise exception '%: expected at most 4, got %', context, jsonb_array_length(variants) using errcode = 'ER422';
    end if;
    for variant in select value from jsonb_array_elements(variants) loop
        if jsonb_typeof(variant) <> 'object' then
            raise exception '%: expected objects with name and max_edge, got %', context, left(variant::text, 100)
                using errcode = 'ER422';
        end if;
        select min(key) into field from jsonb_object_keys(variant) as key where key <> all (fields);
        if field is not null then
            raise exception '%: expected the fields name, max_edge, max_bytes and format, got %', context,
                quote_literal(left(field, 100)) using errcode = 'ER422';
        end if;
        if jsonb_typeof(variant -> 'name') is distinct from 'string' or variant ->> 'name' !~ '^[a-z0-9_-]{1,32}$' then
            raise exception '%: name: expected 1 to 32 of a-z 0-9 _ -, got %', context,
                coalesce(left((variant -> 'name')::text, 100), 'none') using errcode = 'ER422';
        elsif checked ? (variant ->> 'name') then
            raise exception '%: name: expected each once, got % twice', context, quote_literal(variant ->> 'name')
                using errcode = 'ER422';
        end if;
        variant := jsonb_build_object(
            'max_bytes', check_variants.max_bytes, 'format', check_variants.format) || variant;
        for field, lowest, highest in values ('max_bytes', 1000, 16777216), ('max_edge', 16, 16384) loop
            got := variant ->> field;
            -- In parentheses: else the statement ends at the first "then".
            if (case
                    when jsonb_typeof(variant -> field) = 'number'
                    then got::numeric not between lowest and highest or got::numeric <> trunc(got::numeric)
                    else true
                end) then
                raise exception '%: %: %: expected % to %, got %', context, variant ->> 'name', field, lowest, highest,
                    coalesce(left((variant -> field)::text, 100), 'none') using errcode = 'ER422';
            end if;
            variant := jsonb_set(variant, array[field], to_jsonb(got::numeric::int));
        end loop;
        if variant ->> 'format' is null or variant ->> 'format' not in ('jpeg', 'webp', 'avif') then
            raise exception '%: %: format: expected jpeg, webp or avif, got %', context, variant ->> 'name',
                left((variant -> 'format')::text, 100) using errcode = 'ER422';
        end if;
        checked := checked || jsonb_build_object(variant ->> 'name', variant);
    end loop;
    return (select coalesce(jsonb_agg(value order by key collate "C"), '[]') from jsonb_each(checked));
end
$$;
