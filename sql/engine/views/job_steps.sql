-- job_steps: the steps that attempts of jobs have recorded, and later attempts don't repeat.
--
--   select name, recorded_at, output from errand.job_steps where job_id = 4711 order by recorded_at;
--
-- A row stays while the job can be retried: it is unfinished, failed or cancelled.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.job_steps as
select
    step.job_id,
    case when (select errand_internal.sees_content()) then step.name end as name,
    step.recorded_at,
    case when (select errand_internal.sees_content()) then step.output end as output
from errand.step;
comment on view errand.job_steps is
    'Steps of jobs that were done, and are not repeated by later attempts. Example: select * from errand.job_steps '
    'where job_id = 4711';
comment on column errand.job_steps.job_id is 'the job';
comment on column errand.job_steps.name is 'the step''s name; null for errand_monitor';
comment on column errand.job_steps.recorded_at is 'when it was recorded';
comment on column errand.job_steps.output is 'what it has returned; null for errand_monitor, or if it returned nothing';
