-- bring_back: tells batches that these jobs of theirs are unfinished again: they no longer count as without success,
-- and the mark goes down to them. A batch that has ended stays so.
--
-- Each batch's row is locked, in the order of ids, until the end of the transaction. So a batch doesn't end in between.
create or replace function errand_internal.bring_back(ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    one record;
begin
    for one in
        select (options ->> 'batch')::bigint as id, min(job.id) as lowest, array_agg(job.id) as jobs
        from errand.job
        where job.id = any (bring_back.ids) and options ? 'batch'
        group by 1
        order by 1
    loop
        perform from errand.batch where id = one.id for update;
        continue when not found;
        delete from errand.batch_failure where batch_id = one.id and job_id = any (one.jobs);
        if errand_internal.mark_of_batch(one.id) > one.lowest then
            perform errand_internal.set_batch_mark(one.id, one.lowest);
        end if;
    end loop;
end
$$;
