-- register: stores the push token that a person's device reports. Call it at each start of the app, and when the token
-- changes.
--
--   select devices.register('user-18', 'apns', '80ab…', environment => 'sandbox', time_zone => 'Europe/Paris');
--   select devices.register('user-18', 'fcm', 'dQw4…', app => 'com.example.moments', locale => 'pt-BR');
--
-- platform is apns or fcm. environment says which servers of Apple know the token: production (default) or sandbox.
-- app, time_zone (an IANA name) and locale stay as they are if they are null and the person is the same.
--
-- Returns the device's id. A token belongs to one person: a registration by another moves it, with a new id, and pushes
-- that wait for the person before do not go there. It revives a retired token. A person has at most 20 devices: the one
-- that was seen longest ago goes. devices.change_record shows all of this.
--
-- Both hold for any number of sessions, at every isolation level. Above READ COMMITTED, raises 40001 if the token or
-- the person's devices have changed since the transaction's snapshot: retry the transaction. Raises ER422 for arguments
-- out of bounds.
-- errand: for enqueuer, ops
create or replace function devices.register(
    user_id text, platform text, token text, app text default null, environment text default null,
    time_zone text default null, locale text default null
) returns uuid
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 20;
    present timestamptz;
    given text;
    servers text;
    owner devices.device;
    existing devices.device;
    own uuid;
    dropped record;
begin
    perform errand_internal.check_user('register', $1);
    given := devices.check_token('register', $2, $3);
    perform devices.check_details('register', $2, $4, $5, $6, $7);
    servers := case $2 when 'apns' then coalesce($5, 'production') end;
    begin
        -- The usual call: an app that starts again. It changes no number of devices.
        present := clock_timestamp();
        update devices.device
        set registered_at = present, seen_at = present, platform = $2, environment = servers, app = coalesce($4, app),
            time_zone = coalesce($6, time_zone), locale = coalesce($7, locale)
        where token = given and user_id = $1 and retired_at is null
        returning id into own;
        if found then
            return own;
        end if;
        -- If another session has moved the token meanwhile, the update has locked the row all the same. That lock is
        -- released, since persons are locked first below.
        raise exception using errcode = 'ER425';
    exception
        when sqlstate 'ER425' then null;
    end;
    loop
        begin
            select * into owner from devices.device where token = given;
            -- In one order for all sessions. The update makes a transaction with an older snapshot fail.
            insert into devices.person as locked (user_id)
            select distinct one from unnest(array[$1, owner.user_id]) as one where one is not null order by one
            on conflict on constraint person_pkey do update set changes = locked.changes + 1;
            select * into existing from devices.device where token = given for update;
            if existing.user_id is distinct from owner.user_id then
                raise exception using errcode = 'ER425';
            end if;
            present := clock_timestamp();
            if existing.id is null then
                insert into devices.device (
                    registered_at, seen_at, user_id, platform, token, environment, app, time_zone, locale)
                values (present, present, $1, $2, given, servers, $4, $6, $7)
                on conflict on constraint device_token_key do nothing
                returning id into own;
                if not found then
                    raise exception using errcode = 'ER425';
                end if;
                perform devices.record_change(own, 'registered', $1);
            else
                own := case when existing.user_id = $1 then existing.id else gen_random_uuid() end;
                update devices.device
                set id = own, user_id = $1, platform = $2, environment = servers,
                    registered_at = present, seen_at = present,
                    online_since = case when existing.user_id = $1 then online_since end,
                    app = coalesce($4, app),
                    time_zone = coalesce($6, case when existing.user_id = $1 then time_zone end),
                    locale = coalesce($7, case when existing.user_id = $1 then locale end),
                    retired_at = null, retired_reason = null
                where token = given;
                if existing.user_id <> $1 then
                    perform devices.record_change(own, 'moved', $1, existing.id, existing.user_id);
                elsif existing.retired_at is not null then
                    perform devices.record_change(own, 'revived', $1, reason => existing.retired_reason);
                end if;
            end if;
            for dropped in
                delete from devices.device
                where id = any (array(
                    select id
                    from devices.device
                    where user_id = $1 and retired_at is null and id <> own
                    order by seen_at desc, id
                    offset most - 1))
                returning id
            loop
                perform devices.record_change(dropped.id, 'dropped', $1);
            end loop;
            return own;
        exception
            -- Another session has registered the token meanwhile. The locks on the persons are released, since its
            -- person now is another one.
            when sqlstate 'ER425' then null;
        end;
    end loop;
end
$$;
