-- release_heads: makes those jobs available that have the slots of these order keys and are parked for them. Waits for
-- no lock: maintenance looks once more at the key of a job that another session has locked, or has ended.
create or replace function errand_internal.release_heads(keys text[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    behind text[];
    parked tid[];
    locked tid[];
begin
    -- No other ones are locked: finish_v1 is slower for a running job that somebody has locked.
    select array_agg(head.key), array_agg(head.row_id) into behind, parked
    from (
        select asked.key, near.row_id
        from unnest(release_heads.keys) as asked(key)
        join errand.order_slot as slot on slot.order_key = asked.key
        left join lateral (
            select job.ctid as row_id, parked_for from errand.job where job.id = slot.job_id offset 0
        ) as near on true
        where slot.blocked_at is null and (near.row_id is null or starts_with(near.parked_for, 'order:'))
    ) as head;
    if behind is null then
        return;
    end if;
    locked := array(
        select ctid from errand.job
        where ctid = any (parked) and starts_with(parked_for, 'order:')
        order by id
        for update skip locked);
    if locked <> '{}' then
        -- The transaction id comes before the position: see errand_internal.requeue.
        perform pg_current_xact_id();
        update errand.job
        set state = 'available', parked_for = null,
            -- It could not start before: otherwise it would count as late.
            run_at = greatest(run_at, now())
        where ctid = any (locked);
        perform errand_internal.wake();
    end if;
    insert into errand.order_check (order_key)
    select key from unnest(behind, parked) as head(key, row_id) where (row_id = any (locked)) is not true;
end
$$;
