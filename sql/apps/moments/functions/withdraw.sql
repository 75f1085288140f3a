-- withdraw: takes a moment back, on behalf of its sender, whether it waits for its photo or is current: its rows at
-- once, its objects within seconds of the commit. The sender's moment before it doesn't come back.
--
--   select moments.withdraw('user-17', '6c1d…');
--
-- A push of it that waits is withdrawn. If it was current, the partner's devices are told to clear it: a background
-- push and the event moment_withdrawn to the partner's room, both with ids only.
--
-- Returns withdrawn; not_yours; no_moment if there is none any more, as after a newer one. Raises ER422 without a
-- sender. Above READ COMMITTED, raises 40001 if the pair's moments have changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function moments.withdraw(sender text, moment uuid) returns text
language plpgsql security definer set search_path = pg_catalog, moments, pg_temp as $$
#variable_conflict use_column
declare
    held moments.moment;
    receiver text;
    ids jsonb;
begin
    perform errand_internal.check_user('withdraw', $1, 'sender');
    -- The pair first: the order of all who change moments.
    update moments.pair as known
    set changed_at = clock_timestamp()
    where known.pair_id = (select pair_id from moments.moment where id = $2 and moment.sender = $1);
    select * into held from moments.moment as known where known.id = $2;
    if held.id is null then
        return 'no_moment';
    elsif held.sender <> $1 then
        return 'not_yours';
    end if;
    perform media.remove(held.id, 'its sender has withdrawn it');
    if held.current_at is not null then
        select case known.inviter when $1 then known.invitee else known.inviter end into receiver
        from pairing.pair as known
        where known.id = held.pair_id;
        ids := jsonb_build_object('event', 'moment_withdrawn', 'moment_id', held.id, 'pair_id', held.pair_id);
        perform notify.send(receiver, data => ids, collapse => 'withdrawn/' || held.pair_id);
        perform rooms.emit(rooms.user_room(receiver), 'moment_withdrawn', ids - 'event');
    end if;
    return 'withdrawn';
end
$$;
