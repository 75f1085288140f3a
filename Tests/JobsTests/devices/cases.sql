-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hidden
devices.change_record: user_id from_user;
devices.device_status: user_id token_prefix;

-- case: person
select devices.register(
    user_id, 'apns', encode(sha256(convert_to(user_id, 'UTF8')), 'hex'), environment => 'sandbox')
from unnest('{user-4711,ben}'::text[]) as user_id;

-- case: crowd
select devices.register(id, 'apns', lpad(to_hex(number + 1), 64, '0')) from public.crowd;

-- case: start
select devices.register(id, 'apns', md5(id) || md5(id)) from unnest('{anna,ben,carl}'::text[]) as id;

-- case: step
select devices.register(:'user', 'apns', md5(:'other') || md5(:'other'));

-- case: tokens
select token, user_id, '{}'::jsonb from devices.device where retired_at is null;

-- case: enter
select devices.register(:'ben', 'apns', :'apple'), devices.register(:'ben', 'fcm', :'google');

-- case: disturbance device moved
select devices.register(:'carl', 'apns', :'apple');
select devices.register(:'carl', 'fcm', :'google');

-- case: disturbance device removed
select devices.unregister(:'apple');
select devices.unregister(:'google');
