-- style_of: returns how phones present a kind of notification, as the jobs read it; null for none.
create or replace function notify.style_of(profile text) returns jsonb
language sql stable set search_path = pg_catalog, notify, pg_temp as $$
    select jsonb_strip_nulls(jsonb_build_object(
        'badge', badge, 'wakes', wakes, 'is_mutable', is_mutable, 'is_urgent', is_urgent, 'sound', sound,
        'category', category, 'thread', thread, 'channel', channel))
    from notify.profile
    where name = style_of.profile
$$;
