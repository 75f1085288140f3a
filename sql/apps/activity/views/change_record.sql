-- change_record: all changes of activities: what, when, by whom and why.
-- errand: for enqueuer, ops, monitor
create or replace view activity.change_record as
select id, activity_id, at, what, state, who, reason
from activity.change;
comment on view activity.change_record is 'All changes of activities: what, when, by whom and why';
comment on column activity.change_record.id is 'the change''s number, in their order';
comment on column activity.change_record.activity_id is 'the activity';
comment on column activity.change_record.at is 'when';
comment on column activity.change_record.what is
    'started, start sent, token set, updated, update sent, ending, fixed, token forgotten, ended or failed';
comment on column activity.change_record.state is 'its state from then on';
comment on column activity.change_record.who is 'who asked; job N = that job';
comment on column activity.change_record.reason is 'why';
