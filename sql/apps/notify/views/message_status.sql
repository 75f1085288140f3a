-- message_status: the notifications, and on how many devices each is where.
-- errand: for enqueuer, ops, monitor
-- errand: hides title, body, collapse, data
create or replace view notify.message_status as
select
    message.id, message.created_at, message.not_after, message.title, message.body, message.profile, message.data,
    message.collapse,
    counts.devices,
    counts.waiting, counts.accepted, counts.devices - counts.waiting - counts.accepted as not_accepted
from notify.message
cross join lateral (
    select
        count(*) as devices, count(*) filter (where ended_at is null) as waiting,
        count(*) filter (where state = 'accepted') as accepted
    from notify.delivery
    where delivery.message_id = message.id
) as counts;
comment on view notify.message_status is 'The notifications, and on how many devices each was accepted, for 30 days';
comment on column notify.message_status.id is 'the notification''s id';
comment on column notify.message_status.created_at is 'when it was sent by notify.send';
comment on column notify.message_status.not_after is 'nothing is pushed later';
comment on column notify.message_status.title is 'the first line that a phone shows';
comment on column notify.message_status.body is 'what it shows below';
comment on column notify.message_status.profile is 'its kind, which has the texts that the call has not given';
comment on column notify.message_status.data is 'what the app gets';
comment on column notify.message_status.collapse is 'of notifications with the same word, a phone shows the last one';
comment on column notify.message_status.devices is 'how many devices it goes to';
comment on column notify.message_status.waiting is 'on how many it has no final result yet';
comment on column notify.message_status.accepted is 'how many pushes the services have accepted';
comment on column notify.message_status.not_accepted is
    'how many have ended otherwise: notify.delivery_status has the reasons';
