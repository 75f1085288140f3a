-- audit: what people did to jobs, queues, workers and schedules, the newest first. Add a limit.
create or replace view errand.audit as
select id, done_at, who, acting_as, application_name, action, target, reason, jobs, job_ids
from errand.action
order by done_at desc, id desc;
comment on view errand.audit is
    'What people did: who, when, with which program, what, why, and to which jobs. '
    'Example: select * from errand.audit where job_ids @> ''{4711}''';
comment on column errand.audit.id is 'counts actions';
comment on column errand.audit.done_at is 'when';
comment on column errand.audit.who is 'who was logged in';
comment on column errand.audit.acting_as is 'the role that he had set; null where it was his own';
comment on column errand.audit.application_name is 'his program';
comment on column errand.audit.action is 'the function that was called';
comment on column errand.audit.target is 'what for: its arguments';
comment on column errand.audit.reason is 'why, in his words';
comment on column errand.audit.jobs is 'how many jobs it changed';
comment on column errand.audit.job_ids is 'the jobs, the first 1,000 of them';
