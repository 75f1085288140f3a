-- cell_load_v1: returns how loaded this cell is: for the front's errand_front.cell_status.
-- errand: for ops, monitor
create or replace function errand_internal.cell_load_v1() returns table (
    waiting bigint, running bigint, failed bigint, oldest_age interval, finished_5_min bigint, workers bigint,
    connections bigint, bytes bigint)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
begin
    return query
    select
        coalesce(sum(status.waiting), 0)::bigint, coalesce(sum(status.running), 0)::bigint,
        coalesce(sum(status.failed), 0)::bigint, coalesce(max(status.oldest_age), interval '0'),
        coalesce(sum(status.succeeded_5_min + status.failed_5_min + status.retried_5_min), 0)::bigint,
        (select count(*) from errand.worker where heartbeat_at + lease > now()),
        (select count(*) from pg_stat_activity where datname = current_database()),
        pg_database_size(current_database())
    from errand.queues as status;
end
$$;
