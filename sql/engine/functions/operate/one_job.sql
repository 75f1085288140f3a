-- one_job: returns the id as a list, for functions that take one job. Raises ER404 if no job on record has it.
create or replace function errand_internal.one_job(context text, id bigint) returns bigint[]
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if errand_internal.state_of(one_job.id) is null then
        raise exception '%: id: expected a job on record, got %', context, coalesce(one_job.id::text, 'null')
            using errcode = 'ER404', hint = 'Ended jobs stay for 7 days, failed ones for 30: errand.retention_status.';
    end if;
    return array[one_job.id];
end
$$;
