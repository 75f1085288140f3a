-- cron_value: returns a number or a name in a cron expression as a number; null if it is none, or out of range.
create or replace function errand_internal.cron_value(value text, low int, high int, words text[]) returns int
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when value ~ '^[0-9]{1,2}$' then
            case when value::int between low and high then value::int end
        else (
            select low + index::int - 1
            from unnest(words) with ordinality as named(word, index)
            where lower(value collate "C") in (word, left(word, 3)))
    end
$$;
