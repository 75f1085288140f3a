-- send: notifies persons: enqueues a push to each of their devices, in the caller's transaction.
--
--   select notify.send('user-18', 'Ada', 'A new moment', data => '{"moment_id": 7}', once => 'moment/7');
--   select notify.send('{user-18,user-19}'::text[], body => 'The photos are there', collapse => 'event-42');
--   select notify.send('user-18', data => '{"clear": "all"}');
--   select notify.send('user-18', profile => 'new_moment', words => '{"name": "Ada"}', data => '{"moment_id": 7}');
--
-- profile is a kind of notification (see notify.set_profile): each device gets its texts in the language that it has
-- reported, with words filled in. A title or a body of the call comes first.
--
-- Without title and body, the push wakes the app and shows nothing. data is an object: the app gets its values as
-- texts, beside aps at Apple. Of pushes with the same collapse, a phone shows the last one. not_after is the last
-- moment at which a push is useful, at most 28 days from now; the default is 24 hours. once is a key: within 30 days,
-- a person gets nothing by another call with the same key, whether or not the first one found a device.
--
-- Returns the number of devices that get the push: 0 for a person without a device, and for a used key. Takes up to
-- 10,000 persons, each of whom counts once. Pushes to more than 100 persons come after all others that wait, and one
-- job sends up to 100 of them. So 10,000 persons with a device each have about 100 jobs.
--
-- Raises ER422 for arguments out of bounds and an unknown profile, ER413 for more than 4,096 bytes of title, body and
-- data as JSON. Above READ COMMITTED, raises 40001 if another session has used the key since the transaction's
-- snapshot.
-- errand: after check_profile
-- errand: for enqueuer, ops
create or replace function notify.send(
    user_ids text[], title text default null, body text default null, data jsonb default '{}',
    collapse text default null, not_after timestamptz default null, once text default null,
    profile text default null, words jsonb default '{}'
) returns int
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    -- Fewer than errand.enqueue_many takes.
    most constant int := 50000;
    present constant timestamptz := clock_timestamp();
    latest constant timestamptz := coalesce($6, present + interval '24 hours');
    content jsonb;
    receivers text[];
    message uuid;
    jobs jsonb[];
    total int;
begin
    perform notify.check_options('send', $1, $2, $3, $5, $6, $7);
    content := notify.check_data('send', coalesce($4, '{}'));
    if $8 is null then
        perform notify.check_size('send', $2, $3, content);
    else
        perform notify.check_profile('send', $8, $2, $3, content, $9);
    end if;
    receivers := array(select distinct id from unnest($1) as id);
    if $7 is not null then
        receivers := notify.use_key($7, receivers);
    end if;
    if not exists (select from devices.device where user_id = any (receivers) and retired_at is null) then
        return 0;
    end if;
    insert into notify.message (created_at, not_after, title, body, collapse, profile, data, words)
    values (
        present, latest, $2, $3, coalesce($5, (select collapse from notify.profile where name = $8)), $8, content,
        nullif($9, '{}'))
    returning id into message;
    with device as materialized (
        select nextval('notify.delivery_id_seq') as id, device.id as device_id, platform, user_id
        from devices.device
        where user_id = any (receivers) and retired_at is null
    ),
    numbered as (
        select *, (row_number() over (partition by platform order by id) - 1) / 100 as number from device
    ),
    added as (
        insert into notify.delivery (id, created_at, not_after, message_id, device_id, platform, user_id, batch)
        overriding system value
        select
            id, present, latest, message, device_id, platform, user_id,
            case when cardinality(receivers) > 100 then min(id) over (partition by platform, number) end
        from numbered
        returning id, platform, batch, user_id
    ),
    pushed as (
        select
            platform, batch, min(id) as first, max(id) as last, count(*) as devices,
            case when batch is null then min(user_id) end as receiver
        from added
        group by platform, batch, case when batch is null then id end
    )
    select
        array_agg(
            jsonb_build_object(
                'queue', 'pushes', 'not_after', latest, 'max_attempts', 200,
                'priority', case when batch is null then 2 else 3 end)
            || case
                when batch is null then jsonb_build_object(
                    'kind', 'notification_' || platform, 'payload', jsonb_build_object('delivery', first),
                    'unique_key', 'notification/' || first, 'subject', receiver)
                else jsonb_build_object(
                    'kind', 'notification_' || platform || '_batch',
                    'payload', jsonb_build_object('batch', batch, 'last', last),
                    'unique_key', 'notification_batch/' || batch)
            end
            order by first),
        sum(devices)
    into jobs, total
    from pushed;
    for index in 1 .. coalesce(cardinality(jobs), 0) by most loop
        perform from errand.enqueue_many(to_jsonb(jobs[index : index + most - 1]));
    end loop;
    return coalesce(total, 0);
end
$$;
comment on function notify.send(text[], text, text, jsonb, text, timestamptz, text, text, jsonb) is
    'Notifies persons on all of their devices; returns the number of devices. Example: select '
    'notify.send(''{user-18,user-19}''::text[], ''Ada'', ''A new moment'')';

create or replace function notify.send(
    user_id text, title text default null, body text default null, data jsonb default '{}',
    collapse text default null, not_after timestamptz default null, once text default null,
    profile text default null, words jsonb default '{}'
) returns int
language sql security definer set search_path = pg_catalog, notify, pg_temp as $$
    select notify.send(array[$1], $2, $3, $4, $5, $6, $7, $8, $9)
$$;
comment on function notify.send(text, text, text, jsonb, text, timestamptz, text, text, jsonb) is
    'Notifies a person on all of their devices; returns the number of devices. Example: select '
    'notify.send(''user-18'', ''Ada'', ''A new moment'')';
