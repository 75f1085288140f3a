-- change_record: every change of every activity: what, when, by whom and why.
create or replace view activity.change_record as
select id, activity_id, at, what, state, who, reason
from activity.change;
comment on view activity.change_record is 'Every change of every activity: what, when, by whom and why';
comment on column activity.change_record.id is 'names the change, in the order in which they were made';
comment on column activity.change_record.activity_id is 'which activity';
comment on column activity.change_record.at is 'when';
comment on column activity.change_record.what is
    'started, start sent, token set, updated, update sent, ending, mended, token forgotten, ended or failed';
comment on column activity.change_record.state is 'its state from then on';
comment on column activity.change_record.who is 'who asked; job N: a worker with it';
comment on column activity.change_record.reason is 'why';
