-- parents_ended: tells the jobs that wait for these ended ones: up to 1,000 are released or cancelled at once, and
-- maintenance goes on with others (errand_internal.check_children). Whatever ends a job calls it, after the job has
-- left errand.job.
--
-- Locks children, and waits for nothing. A caller that may wait for other jobs afterwards leaves all of them to
-- maintenance (releases). So does one in an older snapshot, which doesn't show all that wait.
--
-- Costs nothing but the reading of two sequences while no job waits for others. A job that begins to wait in this
-- moment may be missed: maintenance checks each once more.
create or replace function errand_internal.parents_ended(ended bigint[], releases boolean default true) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if not errand_internal.any_waits_for_jobs() then
        return;
    elsif releases and current_setting('transaction_isolation') in ('read committed', 'read uncommitted') then
        perform errand_internal.tell_children(ended);
    else
        insert into errand.flow_check (parent_id) select * from unnest(ended);
    end if;
end
$$;
