-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: attack
select activity.update(id, $1, who => $1, why => $1) from activity.activity_status limit 1;
select activity.end_now(id, $1, why => $1) from activity.activity_status order by id limit 1;

-- case: hidden
activity.activity_status: user_id sender_id sender message content_state;
activity.push_record: payload;

-- case: person
select activity.start('ben', 'Zoe', 'Hello from Zoe', token => repeat('ab', 32), who => 'user-4711');
select activity.start('user-4711', 'Ben', 'Hello', token => repeat('cd', 32));

-- case: alike
select activity.start('ben', 'images', 'Hello', token => repeat('ab', 32), who => 'carl');
select activity.start_demo('ben', start_token => repeat('ef', 32));
select activity.update(id, 'images', who => 'carl', why => 'slow images') from activity.activity;

-- case: crowd
select activity.start(next, namesake, 'Hello', token => repeat('ab', 32), who => id)
from public.crowd
where next is not null;

-- case: step
select activity.start(:'user', 'A', 'Hi', start_token => repeat('ab', 32), who => :'other');

-- case: step
select activity.update(id, message => 'Oh') from activity.activity;

-- case: step
select activity.end_now(id) from activity.activity order by started_at limit 1;

-- Data of these pushes has the activity's id; the user is that of the activity.
-- case: truth activity_start
exists (select from activity.activity where id::text = data ->> 'activity_id' and ended_at is null);

-- case: truth activity_update
exists (select from activity.activity where id::text = data ->> 'activity_id' and ended_at is null);

-- case: truth activity_end
exists (select from activity.activity where id::text = data ->> 'activity_id');

-- case: tokens
select coalesce(token, start_token), user_id, jsonb_build_object('activity_id', id) from activity.activity;

-- case: later
activity_end;

-- case: left
select 'activity ' || state || ': ' || id
from activity.activity
where ended_at is null and (
    token is not null and (state = 'ending' or sent_version < version)
    or token is null and state <> 'ending' and start_accepted_at is null
    or not exists (select from errand.job where unique_key = 'activity_end/' || activity.id));
