-- change_partitions: makes one step towards the partitions of today and three days after it, and without those whose
-- time is over. Returns whether there is more to do. Completions never wait for more than one step. Raises 55P03 like
-- errand_internal.make_partitions and errand_internal.drop_partition.
create or replace function errand_internal.change_partitions() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    for days_ahead in 0 .. 3 loop
        if errand_internal.make_partitions(days_ahead) > 0 then
            return true;
        end if;
    end loop;
    return errand_internal.drop_partition();
end
$$;
