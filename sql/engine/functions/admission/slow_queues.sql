-- slow_queues: returns the queues in which a released job of the limit has waited for a worker for more than a second,
-- each with the most urgent priority of such a job. No other job of the limit with this priority, or a less urgent one,
-- is released into the queue: it would wait there too. More urgent ones come before the queue's backlog.
--
-- If the queue has workers and none of them knows the kind of that job, its name is queue/kind: only jobs of this kind
-- are held back.
-- errand: after slot_holders
create or replace function errand_internal.slow_queues(limit_key text) returns jsonb
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return coalesce(jsonb_object_agg(slow.name, slow.priority), '{}')
    from (
        select
            case
                when exists (select from errand.worker where waiting.queue = any (queues))
                    and not exists (
                        select from errand.worker where waiting.queue = any (queues) and waiting.kind = any (kinds))
                    then waiting.queue || '/' || waiting.kind
                else waiting.queue
            end as name,
            min(waiting.priority) as priority
        from (
            select existing.queue, existing.kind, min(existing.priority) as priority
            from errand_internal.slot_holders(slow_queues.limit_key) as existing
            where existing.state = 'waiting'
            group by existing.queue, existing.kind
        ) as waiting
        group by 1
    ) as slow;
end
$$;
