-- cell: returns which cell this database is: 0 unless `errand migrate --cell` has set another number.
--
--   select errand.cell();
-- errand: for enqueuer, worker, ops, monitor
-- errand: topic cells
create or replace function errand.cell() returns int
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    return coalesce((select home.cell from errand.home), 0);
end
$$;
