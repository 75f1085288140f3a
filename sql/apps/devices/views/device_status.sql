-- device_status: the devices and their states, without their tokens.
-- errand: for enqueuer, ops, monitor
-- errand: hides user_id, token_prefix
create or replace view devices.device_status as
select
    id, user_id, platform, environment, app, left(token, least(6, length(token) / 2)) || '…' as token_prefix,
    time_zone, locale, registered_at, seen_at, online_since, retired_at, retired_reason
from devices.device;
comment on view devices.device_status is 'The devices and their states; retired ones for 30 days';
comment on column devices.device_status.id is 'the device''s id';
comment on column devices.device_status.user_id is 'who is logged in on it';
comment on column devices.device_status.platform is 'apns (Apple) or fcm (Google)';
comment on column devices.device_status.environment is
    'Apple''s servers that know the token: production or sandbox; null at Google';
comment on column devices.device_status.app is 'the app, such as its bundle id';
comment on column devices.device_status.token_prefix is
    'the first six characters of its token at most, as logs show them';
comment on column devices.device_status.time_zone is 'its time zone';
comment on column devices.device_status.locale is 'its language and region';
comment on column devices.device_status.registered_at is 'when its app last registered the token';
comment on column devices.device_status.seen_at is 'when it last registered, came online or went offline';
comment on column devices.device_status.online_since is 'since when it is online; null if it is not';
comment on column devices.device_status.retired_at is 'when it was retired: it gets no more pushes';
comment on column devices.device_status.retired_reason is 'why, in the words of the push service';
