-- steps: returns the steps of a pulled job that attempts have recorded, the first one first: errand.step. An attempt
-- calls it before its first step, whatever its number: snoozes and releases count no attempts.
--
--   select * from errand.steps('2a.1.3f');
--
-- Raises ER409 if the attempt has ended: stop it, its outcome changes nothing.
-- errand: for worker
-- errand: topic pull
create or replace function errand.steps(token text) returns table (name text, output jsonb)
-- Not in SQL: that would be planned in each call.
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    attempt record;
begin
    select * into attempt from errand_internal.read_tokens(array[steps.token]);
    return query select * from errand_internal.steps_v1(attempt.worker_id, attempt.id, attempt.queue_position);
end
$$;
