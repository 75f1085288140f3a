-- 0001_activity: Live Activities on lock screens, and the pushes that start, change and end them.
--
-- Why     an activity has to be ended a little before its 8 hours are over, since the phone ignores what comes later: its end
--         is enqueued in the transaction that starts it.
-- Locks   nothing: everything is new.
-- Before  nothing was released before.
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
comment on table activity.setting is 'One row: what holds for all activities that are started from now on';
comment on column activity.setting.is_only is 'true: there is one row';
comment on column activity.setting.margin is 'how long before its 8 hours are over the end of an activity is due';
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
create index activity_user_index on activity.activity (user_id, started_at);
comment on table activity.activity is 'One row a Live Activity; gone 30 days after its end, with its record';
comment on column activity.activity.id is 'names the activity; the app finds it as activityId among the attributes';
comment on column activity.activity.started_at is 'when it was started';
comment on column activity.activity.due_at is 'when its end is to be sent: ends_at less the margin, or when somebody ended it early';
comment on column activity.activity.ends_at is '8 hours after its start: the phone ignores what comes then';
comment on column activity.activity.ended_at is 'when it was over, or was given up; null until then';
comment on column activity.activity.token_set_at is 'when its update token was reported last';
comment on column activity.activity.start_tried_at is 'when a push that starts it was sent first, whatever became of it';
comment on column activity.activity.start_accepted_at is 'when a push that starts it was accepted';
comment on column activity.activity.last_timestamp is 'the timestamp of its newest push, unix seconds: the next one has a later one';
comment on column activity.activity.ended_in is 'the transaction that ended it, for its guard';
comment on column activity.activity.dismiss_after is 'how long after its end it leaves the lock screen; null leaves that to the phone: 4 hours';
comment on column activity.activity.version is 'of the content, counted from 1';
comment on column activity.activity.sent_version is 'the newest that was accepted; 0 where the phone has none from us';
comment on column activity.activity.alerts is 'whether the next update makes a sound';
comment on column activity.activity.state is
    'starting (waits for its update token), live, ending (its end is in line), ended, failed (its start or end was refused)';
comment on column activity.activity.user_id is 'whose lock screen it is on, in the words of the app';
comment on column activity.activity.sender is 'who sent what it shows; DEMO is nobody';
comment on column activity.activity.message is 'the preview of the message';
comment on column activity.activity.start_token is 'the push-to-start token; forgotten when it is dead';
comment on column activity.activity.token is 'the newest update token; forgotten when it is dead';
comment on column activity.activity.attributes_type is 'the app''s name for its attributes';
comment on column activity.activity.end_reason is 'why it is over';
comment on column activity.activity.attributes is 'what never changes, in the form that the app decodes';
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
comment on table activity.change is 'One row a change of an activity: what, when, by whom and why';
comment on column activity.change.id is 'names the change, in the order in which they were made';
comment on column activity.change.activity_id is 'which activity';
comment on column activity.change.at is 'when';
comment on column activity.change.what is
    'started, start sent, token set, updated, update sent, ending, mended, token forgotten, ended or failed';
comment on column activity.change.state is 'the activity''s state from then on';
comment on column activity.change.who is 'who asked, in the words of the app, or else the database''s user; job N: a worker with it';
comment on column activity.change.reason is 'why';

create table activity.push (
    id bigint generated always as identity,
    activity_id uuid not null,
    job_id bigint not null,
    sent_timestamp bigint not null,
    answered_at timestamptz not null,
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
comment on table activity.push is 'One row a push that was to be sent, and what became of it';
comment on column activity.push.id is 'names the push, in the order in which they were answered';
comment on column activity.push.activity_id is 'which activity';
comment on column activity.push.job_id is 'the job that sent it';
comment on column activity.push.sent_timestamp is 'what it carried as its timestamp, unix seconds';
comment on column activity.push.answered_at is 'when its answer was recorded';
comment on column activity.push.version is 'of the content that it carried';
comment on column activity.push.status is 'the HTTP status; null where none came';
comment on column activity.push.event is 'start, update or end';
comment on column activity.push.outcome is
    'accepted, token gone, refused (for good), put off (tried again), not_sent (no key is set: it waits for one)';
comment on column activity.push.via is 'apns; log where ERRAND_PUSH says so: no device has got it; none where no key is set';
comment on column activity.push.reason is 'what APNs said, or what went wrong';
comment on column activity.push.apns_id is 'the name that APNs has for it';
comment on column activity.push.payload is 'what it said; kept only of those that went to the log';
