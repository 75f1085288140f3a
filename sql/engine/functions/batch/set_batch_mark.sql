-- set_batch_mark: sets from which job on a batch may have unfinished ones. The caller has the lock of the batch's row.
create or replace function errand_internal.set_batch_mark(batch_id bigint, mark bigint) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    insert into errand.batch_mark (batch_id, version, mark)
    select
        set_batch_mark.batch_id,
        coalesce((
            select version
            from errand.batch_mark
            where batch_id = set_batch_mark.batch_id
            order by version desc
            limit 1), 0) + 1,
        set_batch_mark.mark;
end
$$;
