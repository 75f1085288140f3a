-- order_is_wrong: returns whether the next job of an order key is not told that it may run: its slot's job has left it,
-- or is parked for it; or the key has no slot and its first job is parked for it.
create or replace function errand_internal.order_is_wrong(order_key text) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
    return (
        select not exists (
            select
            from errand.order_job as joined
            where joined.order_key = order_is_wrong.order_key and joined.job_id = head.id)
        or coalesce(
            (select starts_with(job.parked_for, 'order:') is true from errand.job where job.id = head.id),
            head.blocked_at is null or not exists (select from errand.failed where failed.id = head.id))
        from (
            select
                coalesce(
                    slot.job_id,
                    (
                        select min(joined.job_id)
                        from errand.order_job as joined
                        where joined.order_key = order_is_wrong.order_key
                    )) as id,
                slot.blocked_at
            from (select) as one
            left join errand.order_slot as slot on slot.order_key = order_is_wrong.order_key
        ) as head
        where head.id is not null);
end
$$;
