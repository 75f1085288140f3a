-- cell: returns which cell this database is: 0 unless `errand migrate --cell` has set another number.
--
--   select errand.cell();
create or replace function errand.cell() returns int
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce((select cell from errand.home), 0)
$$;
comment on function errand.cell() is
    'Returns which cell this database is: 0 unless errand migrate --cell has set another';
