-- parents: returns the jobs that a pulled job has waited for (after, errand.enqueue), in the order of their ids: state
-- and output of each.
--
--   select * from errand.parents('2a.1.3f');
--
-- A state is null if that job is no longer on record. Returns no row if the job waited for none, or is no longer the
-- worker's.
-- errand: for worker
-- errand: topic pull
create or replace function errand.parents(token text) returns table (job_id bigint, state text, output jsonb)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select found.*
    from errand_internal.read_tokens(array[parents.token]) as named
    cross join lateral errand_internal.parents_v1(named.worker_id, named.id, named.queue_position) as found;
end
$$;
