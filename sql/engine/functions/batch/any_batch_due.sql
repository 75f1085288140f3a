-- any_batch_due: returns whether maintenance has to look at batches: errand_internal.batch_moved.
--
-- Two sequences instead of a query: an index probe would read what a held snapshot keeps.
create or replace function errand_internal.any_batch_due() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    return coalesce(pg_sequence_last_value('errand.batches_begun'), 0)
        > coalesce(pg_sequence_last_value('errand.batches_checked'), 0);
end
$$;
