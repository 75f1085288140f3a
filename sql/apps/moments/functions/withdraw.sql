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
    existing moments.moment;
    receiver text;
    ids jsonb;
begin
    perform errand_internal.check_user('withdraw', $1, 'sender');
    -- The pair first: the order of all who change moments.
    update moments.pair as target
    set changed_at = clock_timestamp()
    where target.pair_id = (select pair_id from moments.moment where id = $2 and moment.sender = $1);
    select * into existing from moments.moment as target where target.id = $2;
    if existing.id is null then
        return 'no_moment';
    elsif existing.sender <> $1 then
        return 'not_yours';
    end if;
    perform media.remove(existing.id, 'its sender has withdrawn it');
    if existing.current_at is not null then
        select case target.inviter when $1 then target.invitee else target.inviter end into receiver
        from pairing.pair as target
        where target.id = existing.pair_id;
        ids := jsonb_build_object('event', 'moment_withdrawn', 'moment_id', existing.id, 'pair_id', existing.pair_id);
        perform notify.send(receiver, data => ids, collapse => 'withdrawn/' || existing.pair_id);
        perform rooms.emit(rooms.user_room(receiver), 'moment_withdrawn', ids - 'event');
    end if;
    return 'withdrawn';
end
$$;
