-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hidden
notify.delivery_status: user_id;
notify.message_status: title body data collapse;

-- case: left
select 'push ' || delivery.state || ': ' || coalesce(profile, data ->> 'event') || coalesce(' ' || reason, '')
from notify.delivery
join notify.message on message.id = message_id
where delivery.ended_at is null or delivery.state not in ('accepted', 'withdrawn', 'token gone');
