-- move_obsolete: moves waiting jobs, by their row ids, from errand.job to the history as obsolete, each with its
-- reason. Jobs that wait for them are told: errand_internal.parents_ended, order_ended.
create or replace function errand_internal.move_obsolete(row_ids tid[], reasons text[]) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    ended bigint[];
    in_batches bigint[];
    batches bigint[];
    ordered bigint[];
    order_keys text[];
begin
    with gone as (
        delete from errand.job
        using unnest(row_ids, reasons) as asked(row_id, reason)
        where job.ctid = asked.row_id
        returning job.*, asked.reason
    ),
    written as (
        insert into errand.history (
            id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, reason)
        select
            id, :request_head, coalesce(unique_key, waiting_key), :request_tail,
            :attempt_columns, attempts, payload, payload_day, 'obsolete', left(reason, 4000)
        from gone
        returning id, options
    )
    select
        array_agg(id), array_agg(id) filter (where options ? 'order_key'),
        array_agg(options ->> 'order_key') filter (where options ? 'order_key'),
        array_agg(id) filter (where options ? 'batch'),
        array_agg((options ->> 'batch')::bigint) filter (where options ? 'batch')
    into ended, ordered, order_keys, in_batches, batches
    from written;
    if in_batches is not null then
        perform errand_internal.note_unsuccessful(in_batches, batches, 'obsolete');
    end if;
    perform errand_internal.parents_ended(ended);
    if ordered is not null then
        perform errand_internal.order_ended(order_keys, ordered);
    end if;
end
$$;
