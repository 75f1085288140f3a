-- cancel_jobs: cancels those of the jobs that are unfinished, of the wanted state, and not locked by another session.
--
-- Returns their ids, and the state of each before. The caller tells the jobs that wait for them:
-- errand_internal.parents_ended. The next jobs of their order keys may run. errand_internal.note_jobs notes them for
-- the action.
create or replace function errand_internal.cancel_jobs(
    asked bigint[], wanted text, reason text, action_id bigint default null, out ids bigint[], out states text[]
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    followed bigint[];
    keys text[];
    ordered bigint[];
    order_keys text[];
    in_batches bigint[];
    batches bigint[];
begin
    -- From here on no worker claims or completes these jobs.
    select array_agg(id order by id), array_agg(state order by id), array_agg(id) filter (where options ? 'owner'),
        array_agg(unique_key) filter (where unique_key is not null),
        array_agg(id) filter (where options ? 'batch'),
        array_agg((options ->> 'batch')::bigint) filter (where options ? 'batch')
    into ids, states, followed, keys, in_batches, batches
    from (
        select job.id, job.state, job.options, job.unique_key
        from errand.job
        where job.id = any (asked) and (wanted is null or job.state = wanted)
        -- In the order in which all sessions lock keys and jobs.
        order by coalesce(job.unique_key, job.waiting_key), job.id
        for update skip locked) as existing;
    perform errand_internal.note_jobs(action_id, ids, 'job', 'history');
    perform errand_internal.notify('errand_cancel', id::text)
    from unnest(ids, states) as found(id, state)
    where state = 'running';
    if followed is not null then
        perform errand_internal.tell_ended(followed, array_fill('cancelled'::text, array[cardinality(followed)]));
    end if;
    if keys is not null then
        perform errand_internal.end_periods(ids, keys);
    end if;
    with ended as (
        delete from errand.job where id = any (cancel_jobs.ids) returning *
    ),
    written as (
        insert into errand.history (
            id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, reason)
        select
            id, :request_head, coalesce(unique_key, waiting_key), :request_tail, :attempt_columns,
            case
                when state = 'running' then errand_internal.attempt_record(
                    ended, (select name from errand.worker where worker.id = ended.worker_id), 'cancelled',
                    cancel_jobs.reason)
                else attempts
            end,
            payload, payload_day, 'cancelled', left(cancel_jobs.reason, 4000)
        from ended
        returning id, options
    )
    select
        array_agg(id) filter (where options ? 'order_key'),
        array_agg(options ->> 'order_key') filter (where options ? 'order_key')
    into ordered, order_keys
    from written;
    if in_batches is not null then
        perform errand_internal.note_unsuccessful(in_batches, batches, 'cancelled');
    end if;
    if ordered is not null then
        perform errand_internal.order_ended(order_keys, ordered);
    end if;
end
$$;
