-- furthest_marks: returns the highest of several workers' marks, by queue and priority.
create or replace function errand_internal.furthest_marks(known jsonb[]) returns jsonb
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(jsonb_object_agg(queue, best), '{}')
    from (
        select queue, jsonb_agg(mark order by priority) as best
        from (
            select queue, priority, max(mark::bigint) as mark
            from unnest(known) as marks
            cross join lateral jsonb_each(marks) as entries(queue, of_queue)
            cross join lateral jsonb_array_elements_text(of_queue) with ordinality as entry(mark, priority)
            group by queue, priority) as furthest
        group by queue) as entries
$$;
