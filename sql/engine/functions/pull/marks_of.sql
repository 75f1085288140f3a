-- marks_of: returns a queue's marks, one for each priority, of a worker's marks by queue.
create or replace function errand_internal.marks_of(marks jsonb, queue text) returns bigint[]
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(
        (
            select array_agg(mark::bigint order by level)
            from jsonb_array_elements_text(marks -> queue) with ordinality as entry(mark, level)
            where level <= 4
        ),
        '{0,0,0,0}')
$$;
