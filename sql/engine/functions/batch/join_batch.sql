-- join_batch: makes jobs that this transaction has just inserted members of a batch. Raises ER404 as
-- errand_internal.find_batch does, and ER409 once the batch has ended.
--
-- A statement locks its tables before it takes its snapshot, and the lock of errand.batch_jobs lasts until the end of
-- the transaction. So a session that sees an open batch here is among those that errand_internal.check_batches waits
-- for once the batch is closed. In a closed batch the share lock holds up its end. In an older snapshot an open batch
-- may be closed, and has ended maybe: there the lock fails.
create or replace function errand_internal.join_batch(batch_id bigint, ids bigint[], context text default 'enqueue')
returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
-- Each setting takes 3 us of each enqueue: only the one without which a plan from when the table was empty would stay,
-- and the one that goes with it.
set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    is_now constant boolean :=
        current_setting('transaction_isolation') in ('read committed', 'read uncommitted');
    first constant bigint := (select min(id) from unnest(ids) as id);
    last constant bigint := (select max(id) from unnest(ids) as id);
    ended_at timestamptz;
begin
    if last - first + 1 = cardinality(ids) then
        insert into errand.batch_jobs (batch_id, last_id, first_id) values (join_batch.batch_id, last, first);
    else
        insert into errand.batch_jobs (batch_id, last_id, first_id)
        select join_batch.batch_id, max(id), min(id)
        from (select id, id - row_number() over (order by id) as run from unnest(ids) as id) as one
        group by run;
    end if;
    if (errand_internal.find_batch(context || ': batch', join_batch.batch_id)).closed_at is null and is_now then
        return;
    end if;
    select batch.ended_at into ended_at from errand.batch where id = join_batch.batch_id for share;
    if ended_at is not null then
        raise exception '%: batch: expected one that has not ended, got %, which ended at %', context,
            join_batch.batch_id, ended_at
            using errcode = 'ER409', hint = 'Its callbacks are enqueued. Open another one: errand.batch_open.';
    end if;
end
$$;
