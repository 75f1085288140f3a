-- spread_slots: gives each active cell its share of the 1,024 slots of routing keys, and moves as few as it can.
--
-- A slot that moves remembers its former cell, which keeps the unique keys of its unfinished jobs. Raises ER409 if a
-- slot would have to move for a second time before that is over.
create or replace function errand_front.spread_slots() returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    moved int;
    unresolved int;
begin
    perform errand_front.resolve_slots();
    with active as (
        select cell, row_number() over (order by cell) as index, count(*) over () as cells
        from errand_front.cell
        where state = 'active'
    ),
    share as (
        -- The first ones get one slot more where the division leaves a rest.
        select cell, 1024 / cells + (index <= 1024 % cells)::int as slots from active
    ),
    numbered as (
        select slot, slot.cell, row_number() over (partition by slot.cell order by was is null, slot) as index
        from errand_front.slot
    ),
    free as (
        select numbered.slot, row_number() over (order by numbered.slot) as index
        from numbered
        left join share using (cell)
        where numbered.index > coalesce(share.slots, 0)
    ),
    wanting as (
        select share.cell, row_number() over (order by share.cell, one) as index
        from share
        cross join lateral generate_series(
            1, share.slots - (select count(*)::int from errand_front.slot where slot.cell = share.cell)) as one
    ),
    gone as (
        update errand_front.slot
        set cell = wanting.cell, was = slot.cell
        from free
        join wanting using (index)
        join errand_front.slot as before on before.slot = free.slot
        where slot.slot = free.slot
        returning before.was
    )
    select count(*), count(was) into moved, unresolved from gone;
    if unresolved > 0 then
        raise exception 'expected the unique keys of the last change to be resolved, and some are not'
            using errcode = 'ER409',
            hint = 'Their former cell (errand_front.slot.was) still has unfinished jobs with them. Try again later.';
    end if;
    return moved;
end
$$;
