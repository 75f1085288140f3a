-- discard_jobs: moves failed jobs to the history as cancelled, except those that another session has locked. Their
-- failures stay in errand.failures. The next jobs of order keys that they blocked may run. Returns the ids.
-- errand_internal.note_jobs notes them for the action.
create or replace function errand_internal.discard_jobs(
    asked bigint[], reason text, action_id bigint default null
) returns bigint[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    locked constant bigint[] := array(
        -- In the order in which all sessions lock jobs.
        select id from errand.failed where id = any (asked) order by id for update skip locked);
    ordered bigint[];
    order_keys text[];
    in_batches bigint[];
    batches bigint[];
begin
    perform errand_internal.note_jobs(action_id, locked, 'failed', 'history');
    insert into errand.past_failure (job_id, finished_at, queue, kind, fingerprint, error, became, subject)
    select id, finished_at, queue, kind, fingerprint, error, 'discarded', subject
    from errand.failed
    where id = any (locked)
    order by finished_at desc
    -- As many as errand.failures shows.
    limit 5000;
    perform errand_internal.end_periods(
        locked,
        array(select unique_key from errand.failed where id = any (locked) and unique_key is not null));
    with gone as (
        delete from errand.failed where id = any (locked) returning *
    ),
    written as (
        insert into errand.history (id, :request_columns, :attempt_columns, attempts, payload, state, reason)
        select
            id, :request_columns, :attempt_columns, attempts, payload, 'cancelled',
            left('discarded: ' || discard_jobs.reason, 4000)
        from gone
        returning id, options
    )
    select
        array_agg(id) filter (where options ? 'order_key'),
        array_agg(options ->> 'order_key') filter (where options ? 'order_key'),
        array_agg(id) filter (where options ? 'batch'),
        array_agg((options ->> 'batch')::bigint) filter (where options ? 'batch')
    into ordered, order_keys, in_batches, batches
    from written;
    if in_batches is not null then
        perform errand_internal.note_unsuccessful(in_batches, batches, 'discarded');
    end if;
    if ordered is not null then
        perform errand_internal.order_ended(order_keys, ordered);
    end if;
    return locked;
end
$$;
