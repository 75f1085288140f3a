-- may_be_claimed: returns whether a live worker claims jobs of this kind from this queue, and the queue is not paused.
create or replace function errand.may_be_claimed(queue text, kind text) returns boolean
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select exists (select from errand.worker where may_be_claimed.queue = any (queues) and kind = any (kinds))
        and not exists (
            select from errand.queue as held where held.name = may_be_claimed.queue and held.paused_at is not null)
$$;
comment on function errand.may_be_claimed(text, text) is
    'Returns whether a live worker claims jobs of this kind from this queue, and the queue is not paused';
