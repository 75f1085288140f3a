-- withdraw: ends persons' notifications with this collapse that wait: they are not sent any more.
--
--   select notify.withdraw('user-18', 'order-42');
--   select notify.withdraw('{user-18,user-19}'::text[], 'event-42');
--
-- Returns the number of devices that would have got one. It is idempotent. Nothing is sent after its transaction
-- commits, but what is on its way to Apple or Google at that moment may arrive. Takes up to 10,000 persons. Raises
-- ER422 for more, a user id that is not 1 to 200 characters long, and a collapse that notify.send would refuse. Above
-- READ COMMITTED, raises 40001 if a result was recorded since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function notify.withdraw(user_ids text[], collapse text) returns int
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    withdrawn int;
begin
    perform notify.check_options('withdraw', $1, null, null, $2, null, null);
    if $2 is null then
        raise exception 'withdraw: collapse: expected that of the notifications, got null' using errcode = 'ER422';
    end if;
    -- In the order in which jobs record results, so that neither waits for the other.
    with waiting as (
        select existing.id
        from notify.delivery as existing
        join notify.message on message.id = existing.message_id
        where existing.user_id = any ($1) and existing.ended_at is null and message.collapse = $2
        order by existing.id
        for update of existing
    )
    update notify.delivery as existing
    set state = 'withdrawn', ended_at = clock_timestamp()
    from waiting
    where existing.id = waiting.id;
    get diagnostics withdrawn = row_count;
    return withdrawn;
end
$$;
comment on function notify.withdraw(text[], text) is
    'Ends persons'' notifications with this collapse that wait; returns the number of devices. Example: select '
    'notify.withdraw(''{user-18,user-19}''::text[], ''event-42'')';

create or replace function notify.withdraw(user_id text, collapse text) returns int
language sql security definer set search_path = pg_catalog, notify, pg_temp as $$
    select notify.withdraw(array[$1], $2)
$$;
comment on function notify.withdraw(text, text) is
    'Ends a person''s notifications with this collapse that wait; returns the number of devices. Example: select '
    'notify.withdraw(''user-18'', ''order-42'')';
