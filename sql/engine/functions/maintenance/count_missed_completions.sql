-- count_missed_completions: counts the completions that a killed worker had written but not counted: those of its last
-- second. Returns the number of jobs.
--
-- They are the rows of the history with its id whose transaction is later than errand.counted says. No index is needed:
-- the history grows at its end, so each partition is read backwards, 1,000 pages at a time, until none of them has a
-- row of a transaction that late. At most 100,000 pages are read, in some 2 s. Times are summed. Histograms and retried
-- attempts are not corrected. Everything is read before anything is written: a transaction that writes for long would
-- hold up the workers' marks.
create or replace function errand_internal.count_missed_completions() returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    lost errand.counted;
    partition record;
    first_page bigint;
    pages_left bigint := 100000;
    chunk record;
    ends jsonb := '[]';
    -- Above any visible transaction: an xmin has 32 bits, and this adds the others.
    ceiling bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000000;
    total bigint := 0;
begin
    select * into lost
    from errand.counted
    where not exists (select from errand.worker where worker.id = counted.worker_id) and errand_internal.is_home()
    limit 1
    for update skip locked;
    if not found then
        return 0;
    end if;
    -- By name, the newest day first. The default partition is empty as a rule.
    for partition in
        select inhrelid::regclass as name, pg_relation_size(inhrelid) / current_setting('block_size')::int as pages
        from pg_inherits
        join pg_class on pg_class.oid = inhrelid
        where inhparent = 'errand.history'::regclass and pg_relation_size(inhrelid) > 0
        order by relname desc
    loop
        first_page := partition.pages;
        loop
            first_page := greatest(first_page - 1000, 0);
            execute format(
                $read$
                with read as (
                    select
                        ended.worker_id, ended.queue, ended.kind, ended.state, ended.run_at, ended.started_at,
                        ended.finished_at,
                        $1 - (($1 - ended.xmin::text::bigint) & 4294967295) as transaction
                    from %s as ended
                    where ended.ctid >= format('(%%s,0)', $2)::tid and ended.ctid < format('(%%s,0)', $2 + 1000)::tid
                )
                select
                    coalesce((select max(transaction) > $4 from read), false) as is_late,
                    (select jsonb_agg(sums)
                     from (
                         select
                             queue, kind, state as outcome, count(*) as jobs,
                             sum(greatest(extract(epoch from started_at - run_at), 0) * 1000)::bigint as wait_ms,
                             sum(greatest(extract(epoch from finished_at - started_at), 0) * 1000)::bigint as run_ms
                         from read
                         where worker_id = $3 and transaction > $4 and transaction <> all ($5)
                         group by queue, kind, state) as sums) as ends
                $read$, partition.name)
            into chunk
            using ceiling, first_page, lost.worker_id, lost.upto_transaction, lost.beyond;
            ends := ends || coalesce(chunk.ends, '[]');
            pages_left := pages_left - 1000;
            exit when not chunk.is_late or first_page = 0 or pages_left <= 0;
        end loop;
        exit when pages_left <= 0;
    end loop;
    select ends || coalesce(jsonb_agg(sums), '[]') into ends
    from (
        select
            queue, kind, 'failed' as outcome, count(*) as jobs,
            sum(greatest(extract(epoch from started_at - run_at), 0) * 1000)::bigint as wait_ms,
            sum(greatest(extract(epoch from finished_at - started_at), 0) * 1000)::bigint as run_ms
        from (
            select *, ceiling - ((ceiling - failed.xmin::text::bigint) & 4294967295) as transaction
            from errand.failed
            where worker_id = lost.worker_id) as left_out
        where transaction > lost.upto_transaction and transaction <> all (lost.beyond)
        group by queue, kind) as sums;
    delete from errand.counted where worker_id = lost.worker_id;
    insert into errand.finished_per_minute as existing (minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms)
    select date_trunc('minute', now()), lost.worker_id, queue, kind, outcome, sum(jobs), sum(wait_ms), sum(run_ms)
    from jsonb_to_recordset(ends) as sums(
        queue text, kind text, outcome text, jobs bigint, wait_ms bigint, run_ms bigint)
    group by queue, kind, outcome
    on conflict on constraint finished_per_minute_pkey do update
    set jobs = existing.jobs + excluded.jobs, wait_ms = existing.wait_ms + excluded.wait_ms,
        run_ms = existing.run_ms + excluded.run_ms;
    select coalesce(sum(jobs), 0) into total from jsonb_to_recordset(ends) as sums(jobs bigint);
    return total;
end
$$;
