-- roles: applies the rights of five roles without login. Grant them to logins: grant errand_ops to alice.
--
--   errand_owner      owns all objects; no login needs it to work with the queue
--   errand_worker     the worker processes: functions with a version, errand.metrics for /metrics, and no table
--   errand_enqueuer   the application: enqueues, follows its own jobs and schedules, handles jobs by functions
--   errand_ops        operators: read everything, cancel, retry, pause, edit schedules and limits
--   errand_monitor    dashboards and alerts: status without the content or owners of jobs
--
-- Roles belong to the whole server, and the login that migrates may not be allowed to create them. Then nothing fails:
-- the existing roles get their rights, and errand_internal.apply_rights returns what is missing. PUBLIC gets no right.
revoke execute on function
    errand_internal.namespaces(), errand_internal.app_rows(text), errand_internal.rights(),
    errand_internal.apply_rights(), errand_internal.missing_rights(text[]),
    errand_internal.foreign_objects(), errand_internal.lacking_rights_v1(text)
from public;
select errand_internal.apply_rights();
