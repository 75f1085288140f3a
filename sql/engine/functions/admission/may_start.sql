-- may_start: returns whether jobs of this kind may start from this queue now: a live worker claims them and is not
-- drained, and the rate of the queue has room.
-- errand: after rate_wait
create or replace function errand_internal.may_start(queue text, kind text) returns boolean
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select exists (
            select from errand.worker
            where may_start.queue = any (queues) and kind = any (kinds) and drained_at is null)
        and errand_internal.rate_wait(may_start.queue) is null
$$;
