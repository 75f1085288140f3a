-- check_batches: for maintenance: looks at batches, 100 in a call, behind the last one of the previous call: enqueues
-- the callback of the first job that did not succeed, and ends closed batches of which no job is left
-- (errand_internal.end_batch).
--
-- Once a scan has found nothing, there is none until a job of a batch ends or a batch is closed:
-- errand_internal.batch_moved. That counts itself behind the lock of its table. So a scan has seen all that was counted
-- if the transactions that held such locks at the count have ended before it.
--
-- Returns what the next call needs to know, and whether there is more to do at once.
create or replace function errand_internal.check_batches(
    memory text default null, out next_memory text, out is_more boolean
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 100;
    -- How often the memory of a queue in use is written.
    pause constant interval := '2 seconds';
    counted bigint;
    writers xid8[];
    known jsonb := coalesce(memory::jsonb, '{}');
    existing record;
    ended record;
    is_again boolean := false;
    examined int := 0;
begin
    next_memory := memory;
    is_more := false;
    if not errand_internal.begin_check() then
        return;
    end if;
    if not known ? 'last' then
        counted := coalesce(pg_sequence_last_value('errand.batches_begun'), 0);
        writers := errand_internal.writers_of('errand.job') || errand_internal.writers_of('errand.batch');
        if writers = '{}' then
            known := known - 'seen' || jsonb_build_object('seen', counted);
        elsif not known ? 'at' or abs(extract(epoch from clock_timestamp()) - (known ->> 'at')::float8)
                > extract(epoch from pause)
            and not exists (
                select
                from jsonb_array_elements_text(known -> 'writers') as writer
                where not pg_visible_in_snapshot(writer::xid8, pg_current_snapshot()))
        then
            known := jsonb_strip_nulls(jsonb_build_object(
                'seen', known -> 'counted', 'counted', counted, 'writers', to_jsonb(writers::text[]),
                'at', extract(epoch from clock_timestamp())));
        end if;
    end if;
    for existing in
        select
            id, closed_at is not null as is_closed,
            on_failure is not null and failure_job_id is null
                and exists (select from errand.batch_failure where batch_id = batch.id) as has_failed
        from errand.batch
        where ended_at is null and id > coalesce((known ->> 'last')::bigint, 0)
            and (closed_at is not null or on_failure is not null and failure_job_id is null)
        order by id
        limit most
    loop
        examined := examined + 1;
        known := known || jsonb_build_object('last', existing.id);
        if existing.has_failed then
            perform errand_internal.tell_batch_failure(existing.id);
            is_again := true;
        end if;
        if existing.is_closed then
            select * into ended from errand_internal.end_batch(existing.id);
            is_more := is_more or ended.is_more;
            is_again := is_again or ended.is_again;
        end if;
    end loop;
    -- What this has done may be rolled back, which a sequence isn't: only a scan that has done nothing ends the asking.
    if is_more or is_again then
        known := known - 'seen';
    end if;
    if examined = most then
        is_more := true;
    else
        if (known ->> 'seen')::bigint > coalesce(pg_sequence_last_value('errand.batches_checked'), 0) then
            perform setval('errand.batches_checked', (known ->> 'seen')::bigint);
        end if;
        known := known - '{last,seen}'::text[];
    end if;
    next_memory := nullif(known, '{}');
end
$$;
