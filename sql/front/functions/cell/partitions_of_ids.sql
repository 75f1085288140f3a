-- partitions_of_ids: returns the partition of each job's cell, in the order of the ids.
--
-- An id says which cell has given it out. If jobs were moved from there, that cell is asked where they are now. The
-- jobs of a cell that was removed are looked for on all cells.
create or replace function errand_front.partitions_of_ids(ids bigint[]) returns int[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    cells int[] := array(select (id >> 43)::int from unnest(ids) with ordinality as given(id, index) order by index);
    source record;
    moved jsonb;
    steps int := 0;
begin
    -- A job may have moved more than once.
    loop
        moved := '{}';
        for source in
            select existing.cell, existing.partition, array_agg(given.id) as ids
            from errand_front.cell as existing
            join unnest(ids, cells) as given(id, cell) on given.cell = existing.cell
            where existing.has_moved
            group by existing.cell, existing.partition
        loop
            moved := moved || coalesce((
                select jsonb_object_agg(job_id, cell)
                from errand_front.moved_to_at(source.partition, source.ids)), '{}');
        end loop;
        steps := steps + 1;
        exit when moved = '{}' or steps > 10;
        cells := array(
            select coalesce((moved ->> given.id::text)::int, given.cell)
            from unnest(ids, cells) with ordinality as given(id, cell, index)
            order by index);
    end loop;
    if exists (
        select from unnest(cells) as given(cell)
        where not exists (select from errand_front.cell as existing where existing.cell = given.cell))
    then
        select coalesce(jsonb_object_agg(job_id, cell), '{}') into moved from errand_front.holders_on_all(ids);
        cells := array(
            select coalesce((moved ->> given.id::text)::int, given.cell)
            from unnest(ids, cells) with ordinality as given(id, cell, index)
            order by index);
    end if;
    -- An unknown id goes to any cell, which says that it is unknown.
    return array(
        select coalesce(existing.partition, 0)
        from unnest(cells) with ordinality as given(cell, index)
        left join errand_front.cell as existing on existing.cell = given.cell
        order by index);
end
$$;
