-- run_handler_v1: calls the SQL function that handles a job, and completes the job in the same transaction.
--
-- Returns the state. completed: done, with the job's outcome, what went wrong, the transaction as in finish_v1 and the
-- error_id of a failure. again: its effect and its state are written; call again. locked: another session has locked
-- the job's row for 2 s, and nothing is written. revoked: the job is no longer this worker's, and nothing is written.
--
-- An error of the function is written as an outcome (errand.sqlstate_class), without the function's effect. A cancelled
-- call raises 57014, and nothing is written: the caller knows whether it was its time that was over.
-- errand: after sqlstate_class
create or replace function errand_internal.run_handler_v1(
    worker_id bigint, id bigint, queue_position bigint, out state text, out outcome text, out error text,
    out cause text, out completed_by bigint, out error_id text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    existing errand.job;
    handler errand.handler;
    result errand.outcome;
    delay_ms bigint;
    payload jsonb;
begin
    select * into existing
    from errand.job
    where job.id = run_handler_v1.id and coalesce(job.queue_position, 0) = run_handler_v1.queue_position
        and job.worker_id = run_handler_v1.worker_id and job.state = 'running';
    if not found then
        state := 'revoked';
        return;
    end if;
    begin
        select * into handler from errand.handler as found_handler where found_handler.kind = existing.kind;
        error := case
            when handler.kind is null then 'the kind has no handler any more'
            else errand_internal.handler_problem(handler.function, handler.registered_by)
        end;
        if error is not null then
            raise exception '%', error using errcode = case when handler.kind is null then '55006' else '42501' end;
        end if;
        payload := coalesce(
            existing.payload, errand_internal.large_payload(existing.payload_day, existing.id));
        -- errand.put_handler has quoted each part of the name.
        execute format('select * from %s($1, $2)', handler.function) into result
        using
            case
                when existing.options ? 'signal'
                    then payload || jsonb_build_object('signal', errand_internal.signal_of(existing.options))
                -- A login that enqueues a job can't pretend that its signal has come.
                when jsonb_typeof(payload) = 'object' then payload - 'signal'
                else payload
            end,
            (select progress.state from errand.progress where progress.job_id = existing.id);
        -- A setting that the function made without `local` outlives it. Names and operators from here on would be found
        -- in its search path, and called with the rights of this function's owner. Behind a pooler in transaction mode
        -- it would serve the worker's next transaction.
        reset all;
        perform pg_catalog.set_config('search_path', 'pg_catalog, errand, pg_temp', true);
        outcome := coalesce(result.outcome, 'succeeded');
        error := errand_internal.commit_problem();
        if error is not null then
            raise exception 'expected nothing that runs at the commit with the rights of a worker, got %', error
                using errcode = '42501', hint = 'Make the trigger''s function security definer.';
        elsif outcome not in ('succeeded', 'snoozed', 'waiting', 'cancelled', 'failed', 'again') then
            raise exception 'outcome: expected succeeded, snoozed, waiting, cancelled, failed or again, got %',
                quote_literal(left(outcome, 120)) using errcode = 'ER422';
        elsif outcome in ('snoozed', 'waiting') and result.delay is null then
            raise exception '%: expected an interval, got null',
                case outcome when 'snoozed' then 'delay' else 'timeout' end using errcode = 'ER422';
        elsif outcome = 'waiting' and jsonb_typeof(payload) <> 'object' then
            raise exception 'payload: expected an object, which gets the signal, got %', jsonb_typeof(payload)
                using errcode = 'ER422';
        elsif errand_internal.output_problem(result.state) is not null then
            raise exception 'state: %', errand_internal.output_problem(result.state) using errcode = 'ER413';
        end if;
        perform errand_internal.keep_state(existing, case when outcome = 'again' then result.state end);
        error := result.reason;
        delay_ms := case when outcome in ('snoozed', 'waiting') then extract(epoch from result.delay) * 1000 end;
        for delay in 1..20 loop
            if outcome = 'again' then
                state := errand_internal.hold_run(worker_id, id, queue_position);
            else
                select written.state, written.completed_by, written.error_id into state, completed_by, error_id
                from errand_internal.commit_v1(
                    worker_id, id, queue_position, outcome, error, delay_ms, result.output, null, null) as written;
            end if;
            exit when state <> 'locked';
            perform pg_sleep(delay * 0.01);
        end loop;
        if state not in ('completed', 'again') then
            raise exception 'not written' using errcode = 'ER409';
        end if;
    exception
        -- Not query_canceled, which others doesn't include.
        when others or assert_failure then
            if state in ('unwanted', 'locked', 'revoked') then
                -- Without the effect.
                outcome := 'obsolete';
                error := format('guard %s said no at completion', existing.guard);
            else
                outcome := case errand.sqlstate_class(sqlstate)
                    when 'uncounted' then 'snoozed' when 'permanent' then 'failed' else 'retried'
                end;
                cause := 'PostgresError ' || sqlstate;
                error := format('%s (%s)', sqlerrm, sqlstate);
                delay_ms := case when outcome = 'snoozed' then 1000 + random() * 1000 end;
                state := null;
            end if;
    end;
    -- What a session keeps beyond its transaction. The caller resets the rest.
    perform pg_advisory_unlock_all();
    if state is null or state = 'unwanted' then
        for delay in 1..20 loop
            select
                case
                    when written.refused <> '{}' then 'revoked' when written.locked <> '{}' then 'locked'
                    else 'completed'
                end, written.completed_by, written.error_ids[1]
            into state, completed_by, error_id
            from errand_internal.complete_v1(
                worker_id, array[id], array[queue_position], array[outcome], array[error], array[delay_ms],
                array[null::jsonb], array[null::timestamptz], array[null::text]) as written;
            exit when state <> 'locked';
            perform pg_sleep(delay * 0.01);
        end loop;
        if outcome = 'retried' and existing.attempt >= existing.max_attempts then
            outcome := 'failed';
        end if;
    end if;
end
$$;
