-- disconnect: ends a user's pair. Both users may then create and redeem codes again.
--
--   select status, pair_id, partner from pairing.disconnect('user-17');
--
-- status is disconnected, with the pair and the partner, or not_paired: the call is idempotent. In the same transaction
-- it calls pair_ended(pair, inviter, invitee) of each app that has it. Raises ER422 without a user.
-- errand: for enqueuer, ops
create or replace function pairing.disconnect(user_id text) returns table (status text, pair_id uuid, partner text)
language plpgsql security definer set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    existing text;
    ended pairing.pair;
    app text;
begin
    select mine.partner into existing from pairing.partner_of(disconnect.user_id) as mine;
    loop
        perform pairing.lock_people('disconnect', disconnect.user_id, existing);
        pair_id := null;
        partner := null;
        select mine.pair_id, mine.partner into pair_id, partner from pairing.partner_of(disconnect.user_id) as mine;
        exit when partner is null or partner = existing;
        -- The pair changed before the rows were locked.
        existing := partner;
    end loop;
    if pair_id is null then
        return query select 'not_paired', null::uuid, null::text;
        return;
    end if;
    update pairing.pair as target
    set ended_at = clock_timestamp(), ended_by = disconnect.user_id
    where target.id = disconnect.pair_id
    returning * into ended;
    for app in select name from errand_internal.apps_with('pair_ended(uuid,text,text)') as name loop
        execute format('select %I.pair_ended($1, $2, $3)', app) using ended.id, ended.inviter, ended.invitee;
    end loop;
    update pairing.person as target
    set pair_id = null
    where target.user_id in (disconnect.user_id, partner);
    status := 'disconnected';
    return next;
end
$$;
