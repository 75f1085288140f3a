-- roles: who may do what. Five roles without login; give them to those who log in: grant errand_ops to alice.
--
--   errand_owner      owns everything; nobody needs it to work with the queue
--   errand_worker     the processes that do the work: the versioned functions, errand.metrics for /metrics, and no table
--   errand_enqueuer   the application: enqueues, and nothing else
--   errand_ops        people: looks at everything, cancels, retries, pauses, edits schedules and limits
--   errand_monitor    dashboards and alerts: status without what jobs hold, or whose it is
--
-- Roles belong to the whole server, and who migrates may not be allowed to make them: then nothing fails, the rights are
-- given to those roles that exist, and errand.apply_rights says what is missing. Nothing is granted to PUBLIC.
revoke execute on function
    errand.namespaces(), errand.app_rows(text), errand.rights(), errand.apply_rights(), errand.missing_rights(text[]),
    errand.foreign_objects()
from public;
select errand.apply_rights();
