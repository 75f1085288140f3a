-- audit_changes: what each action of operators changed, and what was before, for 7 days. Use a filter or a limit.
--
-- The values may be payloads and errors, so they are null for roles with errand_monitor only.
-- errand: for ops, monitor
-- errand: topic undo
create or replace view errand.audit_changes as
select
    action_id, job_id,
    case when key is not null then was_in end as setting, key,
    case when key is null then was_in end as was_in, is_in,
    case when (select errand_internal.sees_content()) then was end as was,
    case when (select errand_internal.sees_content()) then became end as became
from errand.action_change;
comment on view errand.audit_changes is
    'What each action of operators changed and what was before, a row for each job and setting: errand.undo takes it '
    'back. Example: select * from errand.audit_changes where action_id = 17';
comment on column errand.audit_changes.action_id is 'the action: errand.audit.id';
comment on column errand.audit_changes.job_id is 'the job; null = a setting';
comment on column errand.audit_changes.setting is
    'limit, rate, key_rate, queue, circuit, retention, worker or schedule; null = a job';
comment on column errand.audit_changes.key is 'which one';
comment on column errand.audit_changes.was_in is 'job (unfinished), failed or history (ended): where the job was';
comment on column errand.audit_changes.is_in is
    'where the action left the job; null = the job waited for one that the action changed';
comment on column errand.audit_changes.was is
    'the values from before that the job has no more, or the setting; null = there was none; null for errand_monitor';
comment on column errand.audit_changes.became is
    'values after the action; null = the setting was removed; null for errand_monitor';
