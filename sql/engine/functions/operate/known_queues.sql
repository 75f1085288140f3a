-- known_queues: returns the queues that a job, a kind or a worker has named, and default.
create or replace function errand_internal.known_queues() returns text[]
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return array(
        select 'default' union select queue from errand.queues union select unnest(queues) from errand.worker);
end
$$;
