-- batch_left_v1: returns how many deliveries of a batch wait, how many were refused, and when the next one of those
-- that wait is due.
create or replace function notify.batch_left_v1(batch bigint, last bigint)
returns table (waiting int, refused int, next_at timestamptz)
-- A plan from when the table was empty would read all of it.
language sql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    select
        (count(*) filter (where existing.ended_at is null))::int,
        (count(*) filter (where existing.state = 'refused'))::int,
        min(coalesce(existing.retry_at, now())) filter (where existing.ended_at is null)
    from notify.delivery as existing
    where existing.id between batch_left_v1.batch and batch_left_v1.last and existing.batch = batch_left_v1.batch
$$;
