-- step: records what a step of a pulled job has returned, so that no later attempt of the job does it again. Returns
-- what is on record: of the first call with this name, whichever attempt made it.
--
--   select errand.step('2a.1.3f', 'charge', '{"receipt": 17}');
--
-- An attempt reads errand.steps first, and leaves out what it finds there. In the transaction that has a step's effect,
-- the effect and the record commit together; until its end the job is locked. Steps stay while the job can be retried:
-- over retries, snoozes, waits and releases, and once it has failed or was cancelled.
--
-- name has 1 to 200 characters, output at most 256 KB as text. Raises ER409 if the attempt has ended: then nothing is
-- recorded, and its transaction can't commit. Raises 55P03 if another session has the job locked for a second: call it
-- again. Raises ER422 and ER413 for a name or an output out of bounds.
-- errand: for worker
-- errand: topic pull
create or replace function errand.step(token text, name text, output jsonb default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    until constant timestamptz := clock_timestamp() + interval '1 second';
    attempt record;
    written record;
begin
    select * into attempt from errand_internal.read_tokens(array[step.token]);
    loop
        select * into written
        from errand_internal.record_step_v1(
            attempt.worker_id, attempt.id, attempt.queue_position, step.name, step.output);
        exit when written.state <> 'locked' or clock_timestamp() > until;
        perform pg_sleep(0.01);
    end loop;
    case written.state
        when 'recorded' then
            return step.output;
        when 'known' then
            return written.existing;
        when 'locked' then
            raise exception 'step: job %: expected a job that no other session has locked, got one that is', attempt.id
                using errcode = '55P03', hint = 'Call it again. The effect has happened, and no record says so.';
        else
            raise exception 'step: token: expected an attempt that runs, got one that has ended'
                using errcode = 'ER409';
    end case;
end
$$;
