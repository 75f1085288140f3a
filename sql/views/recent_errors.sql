-- recent_errors: the last failures, newest first. Add a limit: it then costs that many index entries.
create or replace view errand.recent_errors as
select id, kind, queue, finished_at, attempt, crashes, error
from errand.failed
order by finished_at desc;
comment on view errand.recent_errors is 'Failed jobs with their last error, newest first; errand.retry brings them back';
