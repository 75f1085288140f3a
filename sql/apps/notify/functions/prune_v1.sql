-- prune_v1: deletes notifications that were sent 30 days ago with their deliveries, and keys from then. At most
-- max_rows of each; returns the number of rows of the largest batch.
create or replace function notify.prune_v1(max_rows int default 1000) returns int
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp as $$
declare
    old constant timestamptz := now() - interval '30 days';
    total int;
    gone int;
begin
    delete from notify.delivery
    where id = any (array(
        select delivery.id
        from (
            select message.id
            from notify.message
            where message.created_at <= old
            order by message.created_at
            limit max_rows
        ) as past
        join notify.delivery on delivery.message_id = past.id
        limit max_rows));
    get diagnostics total = row_count;
    delete from notify.message
    where id = any (array(
        select message.id
        from notify.message
        where message.created_at <= old
            and not exists (select from notify.delivery where delivery.message_id = message.id)
        order by message.created_at
        limit max_rows));
    get diagnostics gone = row_count;
    total := greatest(total, gone);
    delete from notify.once
    where (user_id, key) in (
        select once.user_id, once.key
        from notify.once
        where once.used_at <= old
        order by once.used_at
        limit max_rows)
        and used_at <= old;
    get diagnostics gone = row_count;
    return greatest(total, gone);
end
$$;
