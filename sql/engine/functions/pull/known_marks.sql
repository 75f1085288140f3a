-- known_marks: returns the highest marks that workers of at least these kinds have stored since that start of the
-- server, also those that have left or were lost: errand_internal.furthest_marks.
-- errand: after furthest_marks
create or replace function errand_internal.known_marks(kinds text[], started text) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select errand_internal.furthest_marks(array(
        select stored.marks
        from (
            (select marks, worker.kinds, server_start from errand.worker)
            union all
            (select marks, mark.kinds, server_start from errand.mark order by stored_at desc limit 100)
        ) as stored
        where stored.kinds @> known_marks.kinds and stored.server_start = known_marks.started))
$$;
