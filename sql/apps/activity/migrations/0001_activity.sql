-- 0001_activity: Live Activities on lock screens, and the pushes that start, change and end them.
--
-- Why     The phone ignores pushes after an activity's 8 hours. So the job that ends it is enqueued in the transaction
--         that starts it, and is due a little earlier.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema activity;
comment on schema activity is
    'Live Activities: started, changed and ended by the API servers, pushed by the jobs activity_end and activity_push';
insert into errand.app (name) values ('activity');

create table activity.setting (
    is_only boolean not null default true,
    margin interval not null default interval '60 seconds',
    constraint setting_pkey primary key (is_only),
    constraint setting_once check (is_only),
    constraint setting_margin check (margin between interval '1 second' and interval '1 hour')
);
comment on table activity.setting is 'One row: settings of activities that start from now on';
comment on column activity.setting.is_only is 'true: allows one row';
comment on column activity.setting.margin is 'how long before its 8 hours are over an activity''s end is due';
insert into activity.setting default values;

create table activity.activity (
    id uuid not null default gen_random_uuid(),
    started_at timestamptz not null,
    due_at timestamptz not null,
    ends_at timestamptz not null,
    ended_at timestamptz,
    token_set_at timestamptz,
    start_tried_at timestamptz,
    start_accepted_at timestamptz,
    last_timestamp bigint not null default 0,
    ended_in xid8,
    dismiss_after interval,
    version int not null default 1,
    sent_version int not null,
    alerts boolean not null default false,
    state text not null,
    user_id text not null,
    sender_id text,
    sender text not null,
    message text not null,
    start_token text,
    token text,
    attributes_type text not null,
    end_reason text,
    attributes jsonb not null,
    content_state jsonb not null,
    constraint activity_pkey primary key (id),
    constraint activity_state check (state in ('starting', 'live', 'ending', 'ended', 'failed')),
    constraint activity_ended check ((state in ('ended', 'failed')) = (ended_at is not null)),
    constraint activity_has_reason check (ended_at is null or end_reason is not null),
    constraint activity_times check (started_at <= due_at and due_at < ends_at),
    constraint activity_versions check (sent_version <= version)
) with (fillfactor = 70);
create index activity_open_index on activity.activity (due_at) where ended_at is null;
create index activity_ended_index on activity.activity (ended_at) where ended_at is not null;
create index activity_start_token_index on activity.activity (start_token)
    where start_token is not null and ended_at is null;
create index activity_user_index on activity.activity (user_id, started_at);
create index activity_sender_index on activity.activity (sender_id, started_at) where sender_id is not null;
comment on table activity.activity is 'One row for each Live Activity, until 30 days after its end';
comment on column activity.activity.id is 'the activity''s id; the app finds it as activityId among the attributes';
comment on column activity.activity.started_at is 'when it was started';
comment on column activity.activity.due_at is
    'when its end is to be sent: ends_at less the margin, or an earlier time if it was ended early';
comment on column activity.activity.ends_at is '8 hours after its start: the phone ignores later pushes';
comment on column activity.activity.ended_at is 'when it ended or failed; null until then';
comment on column activity.activity.token_set_at is 'when its update token was last reported';
comment on column activity.activity.start_tried_at is
    'when the push that starts it was first sent, whatever the result';
comment on column activity.activity.start_accepted_at is 'when the push that starts it was accepted';
comment on column activity.activity.last_timestamp is
    'the timestamp of its newest push, in unix seconds: the next one is later';
comment on column activity.activity.ended_in is 'the transaction that ended it, for its guard';
comment on column activity.activity.dismiss_after is
    'how long after its end it stays on the lock screen; null = the phone decides: 4 hours';
comment on column activity.activity.version is 'version of the content, from 1 on';
comment on column activity.activity.sent_version is 'the newest version that was accepted; 0 = none';
comment on column activity.activity.alerts is 'whether the next update makes a sound';
comment on column activity.activity.state is
    'starting (waits for its update token), live, ending (its end is enqueued), ended, failed (its start or end was '
    'refused)';
comment on column activity.activity.user_id is 'its user, in the words of the app';
comment on column activity.activity.sender_id is
    'the user whose message it shows, in the words of the app; null = nobody''s';
comment on column activity.activity.sender is 'sender of the message; DEMO for a demonstration';
comment on column activity.activity.message is 'the preview of the message';
comment on column activity.activity.start_token is 'the push-to-start token; deleted when it is dead';
comment on column activity.activity.token is 'the newest update token; deleted when it is dead';
comment on column activity.activity.attributes_type is 'the app''s name for its attributes';
comment on column activity.activity.end_reason is 'why it ended';
comment on column activity.activity.attributes is 'the fixed part of its content, in the form that the app decodes';
comment on column activity.activity.content_state is 'the newest content, in the form that the app decodes';

create table activity.change (
    id bigint generated always as identity,
    activity_id uuid not null,
    at timestamptz not null,
    what text not null,
    state text not null,
    who text not null,
    reason text,
    constraint change_pkey primary key (id),
    constraint change_of_activity foreign key (activity_id) references activity.activity (id) on delete cascade
);
create index change_activity_index on activity.change (activity_id, id);
comment on table activity.change is 'One row for each change of an activity: what, when, by whom and why';
comment on column activity.change.id is 'the change''s number, in their order';
comment on column activity.change.activity_id is 'the activity';
comment on column activity.change.at is 'when';
comment on column activity.change.what is
    'started, start sent, token set, updated, update sent, ending, fixed, token forgotten, ended or failed';
comment on column activity.change.state is 'the activity''s state from then on';
comment on column activity.change.who is 'who asked, in the words of the app, or else the login; job N = that job';
comment on column activity.change.reason is 'why';

create table activity.push (
    id bigint generated always as identity,
    activity_id uuid not null,
    job_id bigint not null,
    sent_timestamp bigint not null,
    responded_at timestamptz not null,
    version int not null,
    status smallint,
    event text not null,
    outcome text not null,
    via text not null,
    reason text,
    apns_id text,
    payload jsonb,
    constraint push_pkey primary key (id),
    constraint push_of_activity foreign key (activity_id) references activity.activity (id) on delete cascade,
    constraint push_event check (event in ('start', 'update', 'end')),
    constraint push_outcome check (outcome in ('accepted', 'token gone', 'refused', 'put off', 'not_sent')),
    constraint push_via check (via in ('apns', 'log', 'none'))
);
create index push_activity_index on activity.push (activity_id, id);
comment on table activity.push is 'One row for each push, sent or not, and its result';
comment on column activity.push.id is 'the push''s number, in the order of their results';
comment on column activity.push.activity_id is 'the activity';
comment on column activity.push.job_id is 'the job that sent it';
comment on column activity.push.sent_timestamp is 'its timestamp, in unix seconds';
comment on column activity.push.responded_at is 'when its result was recorded';
comment on column activity.push.version is 'version of its content';
comment on column activity.push.status is 'the HTTP status; null if there was none';
comment on column activity.push.event is 'start, update or end';
comment on column activity.push.outcome is
    'accepted, token gone, refused (for good), put off (retried), not_sent (no key is set: it waits for one)';
comment on column activity.push.via is
    'apns; log if ERRAND_PUSH says so: no device has received it; none if no key is set';
comment on column activity.push.reason is 'APNs'' reason, or the error';
comment on column activity.push.apns_id is 'APNs'' id of the push';
comment on column activity.push.payload is 'its content; stored only for pushes to the log';
