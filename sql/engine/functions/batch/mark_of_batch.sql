-- mark_of_batch: returns from which job on a batch may have unfinished ones. 0 if nothing is known.
create or replace function errand_internal.mark_of_batch(batch_id bigint) returns bigint
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    return coalesce((
        select mark from errand.batch_mark where batch_id = mark_of_batch.batch_id order by version desc limit 1), 0);
end
$$;
