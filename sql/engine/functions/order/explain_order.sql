-- explain_order: for errand.explain: which job of its order key a parked job waits for. One that failed and blocks the
-- key has to be retried or discarded.
create or replace function errand_internal.explain_order(
    job errand.job
) returns table (code text, detail text, hint text)
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    key constant text := substr(job.parked_for, length('order:') + 1);
    head record;
    between_them bigint;
begin
    select slot.job_id as id, slot.blocked_at into head from errand.order_slot as slot where slot.order_key = key;
    if head.id = job.id or head.id is null then
        head.id := (select min(joined.job_id) from errand.order_job as joined where joined.order_key = key);
    end if;
    if head.id = job.id or head.id is null then
        code := 'behind_in_order';
        detail := 'it is the next one of its order key: maintenance releases it';
        hint := 'Maintenance does so within seconds: does any `errand worker` or `errand scheduler` run?';
    elsif head.blocked_at is not null and errand_internal.state_of(head.id) = 'failed' then
        code := 'order_blocked';
        detail := format('job %s failed: retry or discard it', head.id);
        hint := format(
            'select * from errand.retry_job(%1$s, ''…''), or: select * from errand.discard_job(%1$s, ''…'')',
            head.id);
    else
        select count(*) into between_them
        from (
            select
            from errand.order_job as joined
            where joined.order_key = key and joined.job_id < job.id and joined.job_id <> head.id
            limit 10000) as ahead;
        code := 'behind_in_order';
        detail := format('behind job %s of its order key', head.id)
            || case between_them
                when 0 then '' when 1 then ', and another one' when 10000 then ', and 10,000 others or more'
                else format(', and %s others', between_them)
            end;
        hint := format('select * from errand.explain(%s)', head.id);
    end if;
    return next;
end
$$;
