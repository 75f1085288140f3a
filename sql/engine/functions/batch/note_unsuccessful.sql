-- note_unsuccessful: notes that jobs of batches have ended without success. batches has the batch of each, null if it
-- is in none. Maintenance enqueues the callbacks: errand_internal.check_batches.
create or replace function errand_internal.note_unsuccessful(ids bigint[], batches bigint[], state text) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    insert into errand.batch_failure (batch_id, job_id, state)
    select one.batch_id, one.job_id, note_unsuccessful.state
    from unnest(ids, batches) as one(job_id, batch_id)
    -- No batch that was pruned.
    where (select true from errand.batch where id = one.batch_id)
    order by one.batch_id, one.job_id
    on conflict (batch_id, job_id) do update set state = excluded.state;
    perform errand_internal.batch_moved();
end
$$;
