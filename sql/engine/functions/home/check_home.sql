-- check_home: raises ER421 if this database is a copy that nobody has adopted.
create or replace function errand_internal.check_home() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if not errand_internal.is_home() then
        raise exception 'nothing is claimed or scheduled here: this database is a copy of %', errand.copy_of()
            using errcode = 'ER421', hint = 'when the original runs no jobs any more: select errand.adopt(''…'')';
    end if;
end
$$;
