-- complete_v1: completes attempts in every way that finish_v1 does not, a few at a time.
--
-- The arrays have an element for each job. Outcomes:
--   succeeded  to the history, with its output
--   retried    scheduled again in delay_ms (0 = at once, null = errand_internal.retry_delay); the error is recorded
--   snoozed    the same, but the attempt is not counted and nothing is recorded; closes the circuit that it probed
--   released   handed back: not counted, and the job keeps its position
--   parked     waits for its circuit, not counted; the error is the finding; due = time of the next probe, infinity =
--              once an operator has closed the circuit
--   waiting    waits for a signal, not counted; closes the circuit that it probed; the output is {"for", "by"}:
--              errand_internal.wait_for_signal
--   failed     to errand.failed, with its error; so is a retried job on its last attempt
--   cancelled  to the history, with its error as the reason
--   obsolete   the same: the job was no longer wanted when it was done
--
-- An attempt whose output has more than 256 KB as text has failed, with that as its error.
--
-- A completed attempt did not crash its worker, so the count of crashes starts again. due counts instead of delay_ms if
-- it is given; a job for which either is more than 10 years fails. A job with a guard becomes obsolete if the guard
-- says no now, whether it succeeded or was to be retried. The fence is the position, as in finish_v1. Returns the ids
-- that were refused; as locked those to write again a moment later, because another session has locked their rows or
-- the guards have taken 250 ms; the transaction, as in finish_v1; and the ids of jobs whose attempt failed, each with
-- the errand_internal.error_id of its error, for the worker's log.
create or replace function errand_internal.complete_v1(
    worker_id bigint, ids bigint[], positions bigint[], outcomes text[], errors text[], delays_ms bigint[],
    outputs jsonb[], dues timestamptz[], circuits text[], out refused bigint[], out locked bigint[],
    out completed_by bigint, out failing bigint[], out error_ids text[]
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    worker text := (select name from errand.worker where id = complete_v1.worker_id);
    result record;
    existing errand.job;
    asks boolean;
    guards_began timestamptz;
    asked int := 0;
    due timestamptz;
    latest constant timestamptz := now() + interval '10 years';
    snoozed bigint[] := '{}';
begin
    refused := '{}';
    locked := '{}';
    completed_by := pg_current_xact_id()::text::bigint;
    failing := '{}';
    error_ids := '{}';
    for result in
        select *
        from unnest(ids, positions, outcomes, errors, delays_ms, outputs, dues, circuits)
            as ended(id, queue_position, outcome, error, delay_ms, output, due, circuit)
        order by id
    loop
        select * into existing
        from errand.job
        where id = result.id and coalesce(queue_position, 0) = result.queue_position
            and worker_id = complete_v1.worker_id and state = 'running'
        for update skip locked;
        if not found then
            if errand_internal.is_run_by(complete_v1.worker_id, result.id, result.queue_position) then
                locked := locked || result.id;
            else
                refused := refused || result.id;
            end if;
            continue;
        end if;
        if result.output is not null and errand_internal.output_problem(result.output) is not null then
            result.error := errand_internal.output_problem(result.output);
            result.output := null;
            result.outcome := 'failed';
        end if;
        asks := existing.guard is not null
            and result.outcome in ('succeeded', 'retried', 'snoozed', 'parked', 'waiting');
        if asks and clock_timestamp() > guards_began + interval '250 milliseconds' then
            perform errand_internal.record_slow_guard(existing.guard, guards_began, asked);
            locked := locked || result.id;
            continue;
        elsif asks then
            guards_began := coalesce(guards_began, clock_timestamp());
            asked := asked + 1;
        end if;
        -- 4,000 days are too long already, and more may be no time at all. A job that is due in the past looks late.
        due := coalesce(
            result.due,
            now() + case
                when result.delay_ms is not null
                    then least(greatest(result.delay_ms, 0), 345600000000) * interval '1 millisecond'
                when result.outcome = 'retried' then errand_internal.retry_delay(existing.kind, existing.attempt)
                else interval '0'
            end);
        if result.outcome = 'waiting' and errand_internal.wait_problem(result.output, due) is not null then
            result.error := errand_internal.wait_problem(result.output, due);
            result.outcome := 'failed';
        end if;
        if result.outcome in ('retried', 'snoozed', 'parked', 'waiting') and due > latest
            and not (result.outcome = 'parked' and isfinite(due) is false)
        then
            result.error := concat_ws('; ', result.error, format(
                '%s: expected at most 10 years from now, got %s', result.outcome, due));
            result.outcome := 'failed';
        end if;
        if result.outcome in ('snoozed', 'waiting') then
            snoozed := snoozed || result.id;
        end if;
        if result.outcome in ('retried', 'failed') then
            failing := failing || result.id;
            error_ids := error_ids || errand_internal.error_id(
                errand_internal.fingerprint(result.error), (select error_key from errand.home where is_only));
        end if;
        case
            when asks and not errand_internal.still_wanted(existing) then
                if result.outcome = 'retried' then
                    existing.attempts := errand_internal.attempt_record(existing, worker, 'retried', result.error);
                end if;
                perform errand_internal.move_to_history(
                    existing, 'obsolete', result.output, format('guard %s said no at completion', existing.guard));
            when result.outcome = 'released' then
                update errand.job
                set state = 'available', attempt = attempt - 1, worker_id = null, is_handed_back = true
                where id = existing.id;
            when result.outcome = 'snoozed' and due <= now() then
                update errand.job
                set state = 'available', attempt = attempt - 1, crashes = 0
                where id = existing.id;
            when result.outcome = 'snoozed' then
                update errand.job
                set state = 'scheduled', attempt = attempt - 1, crashes = 0, queue_position = null, worker_id = null,
                    run_at = due
                where id = existing.id;
            when result.outcome = 'parked' then
                perform errand_internal.check_circuit('park', result.circuit);
                update errand.job
                set state = 'parked', attempt = attempt - 1, crashes = 0, queue_position = null, worker_id = null,
                    parked_for = 'circuit:' || result.circuit,
                    -- A probe that finds a misconfiguration goes behind the other jobs: the fault may be its own.
                    run_at = case
                        when result.due is not null and existing.id = (
                            select probe_job_id from errand.circuit where name = result.circuit)
                            then now()
                        else run_at
                    end
                where id = existing.id;
            when result.outcome = 'waiting' then
                perform errand_internal.wait_for_signal(existing, result.output, due);
            when result.outcome = 'retried' and existing.attempt < existing.max_attempts then
                update errand.job
                set state = case when due <= now() then 'available' else 'scheduled' end,
                    crashes = 0, queue_position = null, worker_id = null, run_at = due,
                    attempts = errand_internal.attempt_record(existing, worker, 'retried', result.error)
                where id = existing.id;
            when result.outcome in ('failed', 'retried') then
                existing.attempts := errand_internal.attempt_record(existing, worker, 'failed', result.error);
                perform errand_internal.move_to_failed(existing, result.error);
            when result.outcome = 'cancelled' then
                existing.attempts := errand_internal.attempt_record(existing, worker, 'cancelled', result.error);
                perform errand_internal.move_to_history(existing, 'cancelled', null, result.error);
            when result.outcome = 'obsolete' then
                perform errand_internal.move_to_history(existing, 'obsolete', null, result.error);
            when result.outcome = 'succeeded' then
                perform errand_internal.move_to_history(existing, 'succeeded', result.output, null);
            else
                raise exception 'complete_v1: outcome: expected succeeded, retried, snoozed, released, parked, '
                    'waiting, failed, cancelled or obsolete, got %', quote_nullable(result.outcome)
                    using errcode = 'ER422';
        end case;
        if existing.waiting_key is not null then
            perform errand_internal.regain_keys(array[existing.id]);
        end if;
    end loop;
    -- By name, so that two workers with the same circuits don't wait for each other. A refused job counts too: it
    -- has found the service down.
    for result in
        select circuit, max(due) as due, max(error) as error, count(*) as failures
        from unnest(ids, outcomes, errors, dues, circuits) as ended(id, outcome, error, due, circuit)
        where outcome = 'parked' and id <> all (locked) and (due > latest and isfinite(due)) is not true
        group by circuit
        order by circuit
    loop
        perform errand_internal.circuit_failed(result.circuit, result.due, result.error, result.failures::int);
    end loop;
    if snoozed <> '{}' then
        perform errand_internal.probes_snoozed(snoozed);
    end if;
    if 'released' = any (outcomes) then
        perform errand_internal.wake();
    end if;
end
$$;
