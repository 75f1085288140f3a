-- profiles: the kinds of notifications, how phones present them, and their texts.
-- errand: for enqueuer, ops, monitor
create or replace view notify.profiles as
select
    name, wakes, is_mutable, is_urgent, sound, badge, category, thread, channel, collapse,
    (select jsonb_object_agg(locale, jsonb_strip_nulls(jsonb_build_object('title', title, 'body', body)))
        from notify.profile_text
        where profile = name) as texts
from notify.profile;
comment on view notify.profiles is 'The kinds of notifications, how phones present them, and their texts';
comment on column notify.profiles.name is 'the kind''s name, which notify.send takes';
comment on column notify.profiles.wakes is 'whether it wakes the app, so that its widget is fresh';
comment on column notify.profiles.is_mutable is
    'whether the app''s extension at Apple may change it before it is shown';
comment on column notify.profiles.is_urgent is 'whether it is delivered at once, not when it suits the battery';
comment on column notify.profiles.sound is 'the sound''s name at Apple; null = silent';
comment on column notify.profiles.badge is 'the number on the app''s icon at Apple; null = unchanged';
comment on column notify.profiles.category is 'the category at Apple and the click action at Google; null = none';
comment on column notify.profiles.thread is 'the group in which Apple shows it; null = the app''s';
comment on column notify.profiles.channel is 'the channel at Google; null = the app''s default';
comment on column notify.profiles.collapse is 'the collapse of a notification without one of its own; null = none';
comment on column notify.profiles.texts is 'title and body by language, with {words} to fill in';
