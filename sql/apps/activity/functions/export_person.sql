-- export_person: returns the activities of a user, and those that show a message of the user. For people.export.
create or replace function activity.export_person(user_id text) returns jsonb
language sql stable set search_path = pg_catalog, activity, pg_temp as $$
    select coalesce(
        (
            select jsonb_build_object('activities', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                'id', id, 'state', state, 'user_id', existing.user_id, 'sender_id', sender_id, 'sender', sender,
                'message', message, 'attributes', attributes, 'content_state', content_state, 'started_at', started_at,
                'ended_at', ended_at, 'end_reason', end_reason)) order by started_at))
            from activity.activity as existing
            where existing.user_id = export_person.user_id or sender_id = export_person.user_id
            having count(*) > 0
        ), '{}')
$$;
