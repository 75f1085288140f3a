-- test_endpoint: posts {"type": "errand.test"} to an endpoint, by a job. Returns the job's id: its output has what the
-- endpoint has answered and the milliseconds until then, and its error what was wrong.
--
--   select errand.test_endpoint('billing');
--
-- The job has one attempt and needs no room in limits, and it is posted while the circuit is open too. A worker that
-- claims from queue takes it, by default that of the endpoint's kinds, within a minute or never.
--
-- Raises ER404 for an unknown endpoint.
-- errand: for ops
-- errand: topic endpoints
create or replace function errand.test_endpoint(name text, queue text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    id bigint;
begin
    perform errand_internal.check_known(
        'test_endpoint: name', 'an endpoint', test_endpoint.name, array(select name from errand.endpoint));
    select job_id into id
    from errand.enqueue(
        'endpoint.' || test_endpoint.name, '{"type": "errand.test"}',
        queue => coalesce(test_endpoint.queue, (
            select min(bound.queue)
            from errand.handler
            join errand.kind as bound on bound.name = kind
            where endpoint = test_endpoint.name)),
        priority => 1, max_attempts => 1, not_after => now() + interval '1 minute');
    perform errand_internal.record_action(
        'test_endpoint', jsonb_build_object('name', test_endpoint.name), null, array[id]);
    return id;
end
$$;
