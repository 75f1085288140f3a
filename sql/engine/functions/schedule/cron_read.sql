-- cron_read: returns the values of a cron expression's fields, as errand_internal.cron_field returns them.
--
--   select * from errand_internal.cron_read('0 9 * * MON-FRI');
--
-- either_day: one of the two fields of days is enough, because neither begins with *. Raises ER422.
create or replace function errand_internal.cron_read(
    cron text, out seconds int[], out minutes int[], out hours int[], out days int[], out months int[],
    out weekdays int[], out either_day boolean
)
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    given text := btrim(regexp_replace(cron_read.cron, E'\\s+', ' ', 'g'));
    meaning text := given;
    fields text[];
begin
    if length(given) > 500 then
        raise exception 'cron: expected at most 500 characters, got %', length(given) using errcode = 'ER422';
    end if;
    if given ~ '^@[^ ]*$' then
        meaning := case lower(given collate "C")
            when '@yearly' then '0 0 1 1 *'
            when '@annually' then '0 0 1 1 *'
            when '@monthly' then '0 0 1 * *'
            when '@weekly' then '0 0 * * 0'
            when '@daily' then '0 0 * * *'
            when '@midnight' then '0 0 * * *'
            when '@hourly' then '0 * * * *'
        end;
        if meaning is null then
            raise exception
                'cron: expected @annually, @daily, @hourly, @midnight, @monthly, @weekly, @yearly, got %',
                left(given, 100)
                using errcode = 'ER422';
        end if;
    end if;
    fields := string_to_array(coalesce(meaning, ''), ' ');
    if cardinality(fields) not in (5, 6) then
        raise exception 'cron: expected % or six with the second first, got %',
            'five fields (minute, hour, day of month, month, day of week)', coalesce(
                left(nullif(cardinality(array_remove(fields, '')) || ': ' || given, '0: '), 100), 'nothing')
            using errcode = 'ER422';
    end if;
    if cardinality(fields) = 5 then
        fields := array['0'] || fields;
    end if;
    seconds := errand_internal.cron_field('second', fields[1], 0, 59);
    minutes := errand_internal.cron_field('minute', fields[2], 0, 59);
    hours := errand_internal.cron_field('hour', fields[3], 0, 23);
    days := errand_internal.cron_field('day of month', fields[4], 1, 31);
    weekdays := errand_internal.cron_field(
        'day of week', fields[6], 0, 7, '{sunday,monday,tuesday,wednesday,thursday,friday,saturday}');
    months := errand_internal.cron_field(
        'month', fields[5], 1, 12,
        '{january,february,march,april,may,june,july,august,september,october,november,december}');
    either_day := fields[4] !~ E'^\\*' and fields[6] !~ E'^\\*';
end
$$;
