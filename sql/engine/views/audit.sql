-- audit: the actions of operators, newest first. Use a limit.
--
-- Filters by errors quote them, so errand_monitor sees no text of theirs.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.audit as
select
    id, done_at, who, acting_as, application_name, action,
    case
        when (select errand_internal.sees_content()) then target
        else target - 'cut' #- '{filter,error}' #- '{filter,fingerprint}'
    end as target,
    reason, jobs, job_ids, person, request,
    case
        when exists (select from errand.action_change as change where change.action_id = existing.id)
            then errand_internal.undo_until(existing)
    end as undo_until
from errand.action as existing
order by done_at desc, id desc;
comment on view errand.audit is
    'The actions of operators: who, when, with which program, what, why, and on which jobs. Example: select * from '
    'errand.audit where job_ids @> ''{4711}''';
comment on column errand.audit.id is 'the action''s number';
comment on column errand.audit.done_at is 'when';
comment on column errand.audit.who is 'the login';
comment on column errand.audit.acting_as is 'the role of SET ROLE; null = none';
comment on column errand.audit.application_name is 'the program''s application_name';
comment on column errand.audit.action is 'the function that was called';
comment on column errand.audit.target is 'its arguments; for errand_monitor without the errors of a filter';
comment on column errand.audit.reason is 'why, in the words of the operator';
comment on column errand.audit.jobs is 'number of jobs that it changed';
comment on column errand.audit.job_ids is 'the jobs, the first 1,000 of them';
comment on column errand.audit.person is 'for whom the login acted, as its program said; null = for itself';
comment on column errand.audit.request is 'the request of that person, as the program''s log names it';
comment on column errand.audit.undo_until is
    'until when errand.undo takes it back; null = it can''t, or the action has changed nothing';
