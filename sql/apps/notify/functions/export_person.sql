-- export_person: returns all that this app has about a person, as an object; {} if there is nothing.
create or replace function notify.export_person(user_id text) returns jsonb
language sql stable security definer set search_path = pg_catalog, notify, pg_temp as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'notifications', (
            select jsonb_agg(
                jsonb_build_object(
                    'sent_at', message.created_at, 'title', message.title, 'body', message.body,
                    'profile', message.profile, 'words', message.words, 'data', message.data,
                    'device_id', delivery.device_id, 'platform', delivery.platform, 'state', delivery.state,
                    'reason', delivery.reason, 'ended_at', delivery.ended_at)
                order by delivery.id)
            from notify.delivery
            join notify.message on message.id = delivery.message_id
            where delivery.user_id = export_person.user_id),
        'keys', (
            select jsonb_agg(
                jsonb_build_object('key', once.key, 'used_at', once.used_at) order by once.used_at, once.key)
            from notify.once
            where once.user_id = export_person.user_id)))
$$;
