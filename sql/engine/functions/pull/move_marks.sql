-- move_marks: moves the marks of workers that pull. memory is what the last run returned, is_more says that there is
-- more to scan.
--
-- All jobs up to a position are known once each transaction that had drawn one by then has ended. Such a transaction
-- has an id, and holds a lock of errand.job. So a run notes the newest position and those transactions
-- (errand_internal.writers_of), and the next one moves the marks to the first job up to there that still waits. It
-- reads what is committed: a job whose claim may be rolled back still waits. At most 1,000,000 positions are scanned at
-- a time.
create or replace function errand_internal.move_marks(memory text, out next_memory text, out is_more boolean)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    step constant bigint := 1000000;
    started constant text := errand_internal.server_start();
    noted constant jsonb := memory;
    high bigint;
    pulling record;
    name text;
    old bigint[];
    lowest bigint[];
    moved jsonb;
begin
    is_more := false;
    next_memory := memory;
    -- An older snapshot doesn't show who writes now.
    if current_setting('transaction_isolation') <> 'read committed' then
        return;
    elsif noted ->> 'started' = started and not exists (
        select
        from jsonb_array_elements_text(noted -> 'writers') as writer
        where not pg_visible_in_snapshot(writer::xid8, pg_current_snapshot()))
    then
        high := noted -> 'high';
        for pulling in
            select worker.kinds, array_agg(distinct queue) as queues
            from errand.worker
            cross join unnest(queues) as queue
            where pulls_as is not null
            group by worker.kinds
            order by worker.kinds
        loop
            moved := errand_internal.known_marks(pulling.kinds, started);
            foreach name in array pulling.queues loop
                old := errand_internal.marks_of(moved, name);
                is_more := is_more or high > least(old[1], old[2], old[3], old[4]) + step;
                lowest := errand_internal.lowest_waiting_v1(
                    name, pulling.kinds, array(select mark + 1 from unnest(old) as mark),
                    array(select least(high, mark + step) from unnest(old) as mark));
                old := array(
                    select greatest(mark, coalesce(found - 1, least(high, mark + step)))
                    from unnest(old, lowest) with ordinality as entry(mark, found, level)
                    order by level);
                moved := moved || jsonb_build_object(name, old || old);
            end loop;
            update errand.worker
            set marks = moved, server_start = started, marks_moved_at = now()
            where id in (
                    select same.id from errand.worker as same
                    where same.pulls_as is not null and same.kinds = pulling.kinds
                    for update skip locked)
                and worker.marks is distinct from moved;
        end loop;
    elsif noted ->> 'started' = started then
        return;
    end if;
    -- In this order: a transaction that begins to write later draws a higher position.
    high := coalesce(pg_sequence_last_value('errand.job_position'), 0);
    next_memory := jsonb_build_object(
        'started', started, 'high', high, 'writers', errand_internal.writers_of('errand.job'));
end
$$;
