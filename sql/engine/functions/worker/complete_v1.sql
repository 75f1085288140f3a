-- complete_v1: ends attempts in every way that finish_v1 does not, a few at a time.
--
-- The arrays have an element for each job. Outcomes:
--   succeeded  into the history, with its output
--   retried    scheduled again in delay_ms (0 = at once); the error is kept
--   snoozed    the same, without a trace and with the attempt uncounted
--   released   handed back, uncounted: it has not begun, or its worker stops. It keeps its place in line
--   parked     waits for its dependency, uncounted; the error is what was found. It may be tried again from due on
--   failed     into errand.failed, with its error; so is one that was to be retried and was on its last attempt
--   cancelled  into the history, with its error as the reason
--   obsolete   the same: it was no longer wanted when it was done
-- An attempt that comes to its own end did not end its worker: the count of crashes starts anew. due, where it is
-- given, counts instead of delay_ms. A job with a guard is obsolete if that now says no, whether it succeeded or was to
-- be tried again. The fence is the line, as in finish_v1. Returns the ids that were refused; as locked those that are
-- to be written again a moment later: another session has their rows locked, or the guards have taken 250 ms; and the
-- transaction, as finish_v1 does.
create or replace function errand.complete_v1(
    worker_id bigint, ids bigint[], positions bigint[], outcomes text[], errors text[], delays_ms bigint[], outputs jsonb[],
    dues timestamptz[], dependencies text[], out refused bigint[], out locked bigint[],
    out completed_by bigint
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    worker text := (select name from errand.worker where id = complete_v1.worker_id);
    result record;
    held errand.job;
    asks boolean;
    due timestamptz;
begin
    refused := '{}';
    locked := '{}';
    completed_by := pg_current_xact_id()::text::bigint;
    for result in
        select *
        from unnest(ids, positions, outcomes, errors, delays_ms, outputs, dues, dependencies)
            as ended(id, queue_position, outcome, error, delay_ms, output, due, dependency)
        order by id
    loop
        select * into held
        from errand.job
        where id = result.id and coalesce(queue_position, 0) = result.queue_position and worker_id = complete_v1.worker_id and state = 'running'
        for update skip locked;
        if not found then
            if errand.is_held_by(complete_v1.worker_id, result.id, result.queue_position) then
                locked := locked || result.id;
            else
                refused := refused || result.id;
            end if;
            continue;
        end if;
        asks := held.guard is not null and result.outcome in ('succeeded', 'retried', 'snoozed', 'parked');
        if asks and not errand.has_time_for(held.guard) then
            locked := locked || result.id;
            continue;
        end if;
        due := coalesce(result.due, now() + coalesce(result.delay_ms, 0) * interval '1 millisecond');
        case
            when asks and not errand.still_wanted(held) then
                if result.outcome = 'retried' then
                    held.attempts := errand.attempt_record(held, worker, 'retried', result.error);
                end if;
                perform errand.move_to_history(
                    held, 'obsolete', result.output, format('guard %s said no at the end', held.guard));
            when result.outcome = 'released' then
                update errand.job
                set state = 'available', attempt = attempt - 1, worker_id = null, is_handed_back = true
                where id = held.id;
            when result.outcome = 'snoozed' and due <= now() then
                update errand.job
                set state = 'available', attempt = attempt - 1, crashes = 0
                where id = held.id;
            when result.outcome = 'snoozed' then
                update errand.job
                set state = 'scheduled', attempt = attempt - 1, crashes = 0, queue_position = null, worker_id = null, run_at = due
                where id = held.id;
            when result.outcome = 'parked' then
                perform errand.check_dependency('park', result.dependency);
                update errand.job
                set state = 'parked', attempt = attempt - 1, crashes = 0, queue_position = null, worker_id = null,
                    parked_for = 'dependency:' || result.dependency
                where id = held.id;
            when result.outcome = 'retried' and held.attempt < held.max_attempts then
                update errand.job
                set state = case when due <= now() then 'available' else 'scheduled' end,
                    crashes = 0, queue_position = null, worker_id = null, run_at = due,
                    attempts = errand.attempt_record(held, worker, 'retried', result.error)
                where id = held.id;
            when result.outcome in ('failed', 'retried') then
                held.attempts := errand.attempt_record(held, worker, 'failed', result.error);
                perform errand.move_to_failed(held, result.error);
            when result.outcome = 'cancelled' then
                held.attempts := errand.attempt_record(held, worker, 'cancelled', result.error);
                perform errand.move_to_history(held, 'cancelled', null, result.error);
            when result.outcome = 'obsolete' then
                perform errand.move_to_history(held, 'obsolete', null, result.error);
            when result.outcome = 'succeeded' then
                perform errand.move_to_history(held, 'succeeded', result.output, null);
            else
                raise exception 'complete_v1: outcome: expected succeeded, retried, snoozed, released, parked, failed, '
                    'cancelled or obsolete, got %', quote_nullable(result.outcome) using errcode = 'ER422';
        end case;
    end loop;
    -- By name, so that two workers with the same dependencies don't wait for each other. A job that was refused has
    -- found it down all the same.
    for result in
        select dependency, max(due) as due, max(error) as error, count(*) as failures
        from unnest(ids, outcomes, errors, dues, dependencies) as ended(id, outcome, error, due, dependency)
        where outcome = 'parked' and id <> all (locked)
        group by dependency
        order by dependency
    loop
        perform errand.dependency_failed(result.dependency, result.due, result.error, result.failures::int);
    end loop;
    if 'released' = any (outcomes) then
        perform errand.wake();
    end if;
end
$$;
comment on function errand.complete_v1(
    bigint, bigint[], bigint[], text[], text[], bigint[], jsonb[], timestamptz[], text[]
) is
    'For workers: ends attempts with an outcome each; returns the ids that this worker no longer held, those to be '
    'written again since another session has locked them, and the transaction';
