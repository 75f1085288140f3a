-- known_kinds: returns the kinds that a worker has registered or a job has named.
create or replace function errand_internal.known_kinds() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array(
        select name from errand.kind
        union select kind from errand.job_count
        union select kind from errand.finished_total)
$$;
