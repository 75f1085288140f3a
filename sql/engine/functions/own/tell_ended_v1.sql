-- tell_ended_v1: errand_internal.tell_ended for a worker, some milliseconds after the commit that ended the jobs. In
-- that transaction, NOTIFY would take its lock over the whole server for each commit: measured, 0.16 to 0.35 of the
-- rate.
-- errand: for worker
create or replace function errand_internal.tell_ended_v1(ids bigint[], states text[]) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    return errand_internal.tell_ended(ids, states);
end
$$;
