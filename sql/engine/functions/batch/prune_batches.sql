-- prune_batches: for errand_internal.prune: deletes batches that ended more than 30 days ago, with up to 10,000 of
-- their ranges in a call. Returns the number of deleted rows. Maintenance then checks closed ones,
-- whatever has moved.
create or replace function errand_internal.prune_batches() returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 10000;
    old record;
    removed int := 0;
    part int;
begin
    if exists (select from errand.batch where ended_at is null and closed_at is not null) then
        perform nextval('errand.batches_begun');
    end if;
    for old in
        select id
        from errand.batch
        where ended_at < now() - interval '30 days'
        order by ended_at
        limit most
        for update skip locked
    loop
        delete from errand.batch_jobs
        where ctid = any (array(
            select ctid from errand.batch_jobs where batch_id = old.id order by last_id limit most - removed));
        get diagnostics part = row_count;
        removed := removed + part;
        exit when removed >= most;
        delete from errand.batch_failure
        where ctid = any (array(
            select ctid from errand.batch_failure where batch_id = old.id order by job_id limit most - removed));
        get diagnostics part = row_count;
        removed := removed + part;
        exit when removed >= most;
        delete from errand.batch_mark where batch_id = old.id;
        delete from errand.batch where id = old.id;
        removed := removed + 1;
        exit when removed >= most;
    end loop;
    return removed;
end
$$;
