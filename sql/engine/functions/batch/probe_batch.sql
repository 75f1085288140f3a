-- probe_batch: looks for the lowest unfinished job of a batch, from an id on. is_left says whether there is one, at
-- which then is. After max_jobs ids without one is_left is null, and at is where to go on.
--
-- Ids are looked up in order, a range at a time: the ranges of a batch don't overlap. From the batch's mark on only ids
-- are read of jobs that have ended since, however many entries a held snapshot keeps below.
create or replace function errand_internal.probe_batch(
    batch_id bigint, from_id bigint, max_jobs int, out is_left boolean, out at bigint
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    room int := max_jobs;
    span record;
    upto bigint;
begin
    at := from_id;
    for span in
        select greatest(first_id, from_id) as first_id, last_id
        from errand.batch_jobs
        where batch_id = probe_batch.batch_id and last_id >= from_id
        order by last_id
        limit max_jobs
    loop
        upto := least(span.last_id, span.first_id + room - 1);
        select id into at from errand.job where id between span.first_id and upto order by id limit 1;
        if found then
            is_left := true;
            return;
        end if;
        at := upto + 1;
        room := room - (upto - span.first_id + 1)::int;
        if room <= 0 then
            is_left := null;
            return;
        end if;
    end loop;
    is_left := case when room > 0 then false end;
end
$$;
