-- enqueue_callback: enqueues a callback of a batch, and returns the job. Its payload gets the batch, if it is an
-- object that isn't encrypted; its options say of which batch it is one. If the HTTP API opened the batch for a token,
-- the job is that token's too.
create or replace function errand_internal.enqueue_callback(batch errand.batch, callback jsonb, event text)
returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    asked record;
    counted record;
    added bigint;
begin
    if callback is null then
        return null;
    end if;
    select * into asked
    from jsonb_to_record(callback) as job(
        kind text, payload jsonb, queue text, priority int, max_attempts int, limit_key text, rate_key text,
        tags text[], subject text, options jsonb, kind_defaults jsonb);
    asked.payload := coalesce(asked.payload, '{}');
    if jsonb_typeof(asked.payload) = 'object' and not asked.payload ? '$enc' then
        select * into counted from errand_internal.batch_counts(batch.id);
        asked.payload := asked.payload || jsonb_build_object('batch', jsonb_strip_nulls(jsonb_build_object(
            'id', batch.id, 'name', batch.name, 'event', event, 'total', counted.total, 'failed', counted.failed,
            'cancelled', counted.cancelled, 'obsolete', counted.obsolete, 'properties', batch.properties)));
    end if;
    added := (
        select inserted.job_id
        from errand_internal.insert_job(
            asked.kind, asked.payload, asked.queue, null, asked.priority, asked.max_attempts, null, null, 'keep',
            asked.limit_key, null, asked.tags, asked.subject, asked.options,
            case when batch.token is not null then batch.owner end, asked.kind_defaults, batch.token,
            rate_key => asked.rate_key) as inserted);
    update errand.job
    set options = coalesce(job.options, '{}') || jsonb_build_object('callback_of', batch.id)
    where job.id = added;
    return added;
end
$$;
