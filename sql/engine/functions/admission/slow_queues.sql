-- slow_queues: returns the queues in which a released job of the limit has waited for a worker for more than a second.
-- No other job of the limit is released into them: it would wait there too.
-- errand: after slot_holders
create or replace function errand.slow_queues(limit_key text) returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(array_agg(distinct held.queue), '{}')
    from errand.slot_holders(slow_queues.limit_key) as held
    where held.state = 'waiting'
$$;
comment on function errand.slow_queues(text) is
    'Returns the queues in which a released job of the limit has waited for a worker for more than a second';
