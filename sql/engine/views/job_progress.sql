-- job_progress: progress and job log of running attempts, and of the last attempt of each job.
--
--   select * from errand.job_progress where is_running order by updated_at desc;
--
-- A row is written once a second at most. It stays for 30 days after the last report, and longer while the job is
-- unfinished.
-- errand: for ops, monitor
-- errand: topic find
create or replace view errand.job_progress as
select
    reported.job_id,
    reported.attempt,
    exists (
        select
        from errand.job
        where job.id = reported.job_id and job.queue_position = reported.queue_position and job.state = 'running'
    ) as is_running,
    reported.fraction,
    case when (select errand_internal.sees_content()) then reported.message end as message,
    case when (select errand_internal.sees_content()) then reported.output end as output,
    case when (select errand_internal.sees_content()) then reported.log end as log,
    reported.updated_at
from errand.progress as reported;
comment on view errand.job_progress is
    'Progress and last log lines of each job whose attempts report or log. Example: select * from errand.job_progress '
    'where job_id = 4711';
comment on column errand.job_progress.job_id is 'the job';
comment on column errand.job_progress.attempt is 'the attempt that reported last';
comment on column errand.job_progress.is_running is 'whether that attempt is running';
comment on column errand.job_progress.fraction is 'how much is done, 0 to 1; null = not reported';
comment on column errand.job_progress.message is 'what the handler does, in words; null for errand_monitor';
comment on column errand.job_progress.output is 'the handler''s result so far; null for errand_monitor';
comment on column errand.job_progress.log is 'the last log lines: at most 50, and 8 KB; null for errand_monitor';
comment on column errand.job_progress.updated_at is 'when it last reported';
