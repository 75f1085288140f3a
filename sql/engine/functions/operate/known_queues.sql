-- known_queues: returns the queues that a job, a kind or a worker has named, and default.
create or replace function errand.known_queues() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array(
        select 'default' union select errand.queue_names() union select unnest(queues) from errand.worker)
$$;
comment on function errand.known_queues() is 'Returns the queues that a job, a kind or a worker has named, and default';
