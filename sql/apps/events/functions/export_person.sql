-- export_person: returns all that this app has of a person, as an object; {} if it has nothing. For people.export.
--
-- hosted: the events that the person hosts. joined: the events of all hosts that the person is in. excluded: those
-- whose host keeps the person out. photos: the person's photos, with the keys of their objects.
create or replace function events.export_person(user_id text) returns jsonb
language sql stable set search_path = pg_catalog, events, pg_temp as $$
    select coalesce(jsonb_object_agg(part.name, part.rows) filter (where part.rows is not null), '{}')
    from (
        select
            'hosted' as name,
            jsonb_agg(
                jsonb_build_object(
                    'event_id', id, 'title', title, 'created_at', created_at, 'starts_at', starts_at,
                    'ends_at', ends_at, 'reveal_at', reveal_at, 'photos_each', photos_each,
                    'photos_in_all', photos_in_all, 'keep_original', keep_original, 'qualities', qualities,
                    'max_edge', max_edge, 'kept_days', kept_days)
                order by created_at, id) as rows
        from events.event
        where host = export_person.user_id
        union all
        select
            'joined',
            jsonb_agg(
                jsonb_build_object(
                    'event_id', event_id, 'title', event.title, 'name', person.name, 'joined_at', joined_at)
                order by joined_at, event_id)
        from events.participant as person
        join events.event on event.id = event_id
        where person.user_id = export_person.user_id
        union all
        select
            'excluded',
            jsonb_agg(
                jsonb_build_object('event_id', event_id, 'excluded_at', excluded_at) order by excluded_at, event_id)
        from events.exclusion
        where user_id = export_person.user_id
        union all
        select
            'photos',
            jsonb_agg(
                jsonb_build_object(
                    'photo', existing.photo, 'event_id', existing.event_id, 'added_at', existing.added_at,
                    'state', status.state, 'source_key', existing.source_key, 'result_key', status.result_key)
                order by existing.added_at, existing.photo)
        from events.photo as existing
        join media.photo_status as status on status.id = existing.photo
        where existing.user_id = export_person.user_id
    ) as part
$$;
