-- slot_to_reuse: returns a slot for a job whose key has no limit: one of a few random slots whose job has ended, else a
-- new one.
--
-- A limit that is set later finds the running jobs by their slots, and the slots stay few although no job returns one.
create or replace function errand.slot_to_reuse(limit_key text, highest int) returns int
language sql volatile set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
    select coalesce((
        select newest.slot
        from (select floor(random() * highest)::int as start) as chosen
        cross join generate_series(1, least(4, highest)) as step
        cross join lateral (
            select known.*
            from errand.limit_slot as known
            where known.limit_key = slot_to_reuse.limit_key and known.slot = 1 + (chosen.start + step) % highest
            order by known.admitted_at desc
            limit 1
        ) as newest
        where (select job.queue_position from errand.job where job.id = newest.job_id)
            is distinct from newest.queue_position
        limit 1), highest + 1)
$$;
comment on function errand.slot_to_reuse(text, int) is
    'Returns a slot for a job whose key has no limit: one of an ended job, or a new one';
