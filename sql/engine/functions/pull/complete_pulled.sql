-- complete_pulled: completes pulled jobs: errand.done, errand.fail, errand.snooze, errand.release. The arrays have an
-- element for each token, in its order.
--
-- Each job is completed for itself, by the fence of its token: errand_internal.finish_v1, complete_v1. A token that
-- comes twice is stale the second time. Attempts are counted at once: errand_internal.count_pulled.
create or replace function errand_internal.complete_pulled(
    context text, tokens text[], outcomes text[], errors text[] default null, delays interval[] default null,
    outputs jsonb[] default null
) returns table (token text, job_id bigint, result text)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    problem text;
    attempts record;
    written record;
    known bigint[] := '{}';
    refused bigint[] := '{}';
    locked bigint[] := '{}';
    guarded bigint[] := '{}';
    failed bigint[];
begin
    if tokens is null then
        raise exception '%: tokens: expected an array, got null', context using errcode = 'ER422';
    elsif context in ('snooze', 'wait_for') and (delays is null or array_position(delays, null) is not null) then
        raise exception '%: %: expected an interval for each token, got null', context,
            case context when 'snooze' then 'delays' else 'timeouts' end using errcode = 'ER422';
    end if;
    problem := case
        when cardinality(outputs) <> cardinality(tokens)
            then format('%s: %s', case context when 'wait_for' then 'signals' else 'outputs' end, cardinality(outputs))
        when cardinality(errors) <> cardinality(tokens) then format('errors: %s', cardinality(errors))
        when cardinality(delays) <> cardinality(tokens)
            then format(
                '%s: %s',
                case context when 'fail' then 'retry_after' when 'wait_for' then 'timeouts' else 'delays' end,
                cardinality(delays))
        when cardinality(outcomes) <> cardinality(tokens) then format('permanent: %s', cardinality(outcomes))
    end;
    if problem is not null then
        raise exception '%: %: expected % elements, as tokens has, got %', context, split_part(problem, ': ', 1),
            cardinality(tokens), split_part(problem, ': ', 2) using errcode = 'ER422';
    end if;
    for attempts in
        select
            named.worker_id, existing.guard is not null as is_guarded, outcomes[named.index] = 'succeeded' as is_done,
            array_agg(named.index) as indexes, array_agg(named.id) as ids, array_agg(named.queue_position) as positions,
            array_agg(outcomes[named.index]) as outcomes, array_agg(errors[named.index]) as errors,
            array_agg((extract(epoch from delays[named.index]) * 1000)::bigint) as delays_ms,
            case when count(outputs[named.index]) > 0 then array_agg(outputs[named.index]) end as outputs,
            array_agg(existing.queue) as queues, array_agg(existing.kind) as kinds,
            array_agg(existing.run_at) as due, array_agg(existing.started_at) as starts
        from (
            select distinct on (read.id, read.queue_position, read.worker_id) read.*
            from errand_internal.read_tokens(tokens) as read
            order by read.id, read.queue_position, read.worker_id, read.index) as named
        cross join lateral (
            select *
            from errand.job
            where job.id = named.id and coalesce(job.queue_position, 0) = named.queue_position
                and job.worker_id = named.worker_id and job.state = 'running'
            offset 0) as existing
        group by named.worker_id, is_guarded, is_done
        order by named.worker_id, is_guarded, is_done
    loop
        begin
            if attempts.is_done and not attempts.is_guarded then
                select * into written
                from errand_internal.finish_v1(attempts.worker_id, attempts.ids, attempts.positions, attempts.outputs);
            else
                select * into written
                from errand_internal.complete_v1(
                    attempts.worker_id, attempts.ids, attempts.positions, attempts.outcomes, attempts.errors,
                    attempts.delays_ms, attempts.outputs, null, null);
            end if;
            refused := refused || written.refused;
            locked := locked || written.locked;
            known := known || attempts.indexes;
            if attempts.is_guarded then
                guarded := guarded || attempts.ids;
            end if;
            if context <> 'release' then
                -- On its last attempt, or as its output is too large.
                failed := case
                    when written.failing <> '{}'
                        then array(select id from errand.failed where id = any (written.failing))
                    else '{}'
                end;
                perform errand_internal.count_pulled(
                    attempts.ids, attempts.queues, attempts.kinds, attempts.outcomes, failed, attempts.due,
                    attempts.starts, written.refused || written.locked);
            end if;
        exception
            when lock_not_available then
                known := known || attempts.indexes;
                locked := locked || attempts.ids;
        end;
    end loop;
    return query
    select
        named.token, named.id,
        case
            when named.index <> all (known) or named.id = any (refused) then 'stale'
            when named.id = any (locked) then 'again'
            when named.id = any (guarded) and exists (
                select from errand.history where history.id = named.id and history.state = 'obsolete') then 'obsolete'
            else 'completed'
        end
    from errand_internal.read_tokens(tokens) as named
    order by named.index;
end
$$;
