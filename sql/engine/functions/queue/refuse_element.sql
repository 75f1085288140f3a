-- refuse_element: raises ER422 for the first element of errand.enqueue_many with a value that is none of its argument's
-- type, such as a time that PostgreSQL can't read. Called once such a value was met. context names the element if it is
-- the only one.
create or replace function errand_internal.refuse_element(jobs jsonb, context text default null) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    given record;
begin
    for given in
        select item.ordinality as index, allowed.name, allowed.type, allowed.expected,
            item.value -> allowed.name as value
        from jsonb_array_elements(jobs) with ordinality as item
        cross join (
            values ('run_at', 'timestamptz', 'a time'), ('not_after', 'timestamptz', 'a time'),
                ('priority', 'int', 'an integer'), ('max_attempts', 'int', 'an integer'),
                ('unique_for', 'interval', 'an interval'), ('no_later_than', 'interval', 'an interval'),
                ('tags', 'text[]', 'an array of strings'), ('batch', 'bigint', 'the id of a batch'),
                ('after', 'bigint[]', 'an array of ids'),
                ('after_elements', 'int[]', 'an array of numbers of elements')
        ) as allowed(name, type, expected)
        where item.value ? allowed.name
        order by item.ordinality
    loop
        begin
            execute format(
                'select * from jsonb_to_record(jsonb_build_object(''value'', $1)) as job(value %s)', given.type)
            using given.value;
        exception
            when data_exception then
                raise exception '%: %: expected %, got %',
                    coalesce(context, format('enqueue_many: jobs[%s]', given.index)), given.name, given.expected,
                    left(given.value::text, 120)
                    using errcode = 'ER422';
        end;
    end loop;
end
$$;
