-- cron_field: returns the values of one field of a cron expression, such as {0,15,30,45} for */15.
--
--   select errand_internal.cron_field('minute', '*/15', 0, 59);
--
-- Days have values beyond the calendar's. Of the month, -1 is L, the last, and -4 is L-3. Of the week, 25 is 5#2, the
-- second Friday, and 65 is 5L, the last. Raises ER422 with the field, the expected and the given value.
create or replace function errand_internal.cron_field(
    field text, value text, low int, high int, words text[] default '{}'
) returns int[]
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    expected text;
    names text;
    item text;
    range text;
    step int;
    ends int[];
    parts text[];
    found int[] := '{}';
begin
    names := coalesce(
        ' or ' || upper(left(words[1], 3) collate "C") || ' to '
            || upper(left(words[array_upper(words, 1)], 3) collate "C"), '');
    expected := case when field in ('day of month', 'day of week', 'month') then '*, ' else '* or ' end
        || low || ' to ' || high || names
        || case field
            when 'day of month' then ', or L (the last), L-1 to L-30'
            when 'day of week' then ', or FRI#2 (the second Friday), FRIL (the last)'
            else ''
        end;
    foreach item in array string_to_array(value, ',') loop
        if field = 'day of month' and item collate "C" ~* '^l' then
            if item collate "C" !~* '^l(-[0-2]?[0-9]|-30)?$' then
                raise exception '%: expected %, got %', field, expected, item using errcode = 'ER422';
            end if;
            found := found || -1 - coalesce(nullif(substr(item, 3), '')::int, 0);
            continue;
        end if;
        if field = 'day of week' and (item ~ '#' or item collate "C" ~* 'l$') then
            parts := case when item ~ '#'
                then array[split_part(item, '#', 1), substr(item, strpos(item, '#') + 1)]
                else array[left(item, -1), '6']
            end;
            ends := array[errand_internal.cron_value(parts[1], low, high, words)];
            if ends[1] is null then
                raise exception '%: expected %, got %', field, expected, item using errcode = 'ER422';
            elsif item ~ '#' and parts[2] !~ '^0?[1-5]$' then
                raise exception '%: expected 1 to 5 behind #, got %', field, item using errcode = 'ER422';
            end if;
            found := found || (ends[1] % 7 + 10 * parts[2]::int);
            continue;
        end if;
        range := split_part(item, '/', 1);
        step := null;
        if strpos(item, '/') > 0 then
            step := errand_internal.cron_value(substr(item, strpos(item, '/') + 1), 1, high, '{}');
            if step is null then
                raise exception '%: expected a step of 1 to % behind /, got %', field, high, item
                    using errcode = 'ER422';
            end if;
        end if;
        if range = '*' then
            ends := array[low, case when field = 'day of week' then 6 else high end];
        else
            ends := array[errand_internal.cron_value(split_part(range, '-', 1), low, high, words)];
            if strpos(range, '-') > 0 then
                ends := ends || errand_internal.cron_value(substr(range, strpos(range, '-') + 1), low, high, words);
            else
                ends := ends || case when step is null then ends[1] else high end;
            end if;
            if ends[1] is null or ends[2] is null then
                raise exception '%: expected %, got %', field, expected, coalesce(nullif(item, ''), 'nothing')
                    using errcode = 'ER422';
            end if;
            if field = 'day of week' and ends[2] = 0 and ends[1] > 0 then
                ends[2] := 7;
            end if;
            if ends[1] > ends[2] then
                raise exception '%: expected a range that goes up, such as %-% or %-%,%-%, got %',
                    field, ends[2], ends[1], ends[1], high, low, ends[2], item using errcode = 'ER422';
            end if;
        end if;
        found := found || array(
            select case when field = 'day of week' then one % 7 else one end
            from generate_series(ends[1], ends[2], coalesce(step, 1)) as one);
    end loop;
    return array(select distinct one from unnest(found) as one order by one);
end
$$;
