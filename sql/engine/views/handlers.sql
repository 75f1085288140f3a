-- handlers: the kinds whose handler is a SQL function, and what keeps one from being called.
--
--   select * from errand.handlers where problem is not null;
--
-- errand: for ops, monitor
-- errand: topic handlers
create or replace view errand.handlers as
select
    kind,
    function,
    timeout,
    registered_by,
    registered_at,
    errand_internal.handler_problem(function, registered_by) as problem
from errand.handler;
comment on view errand.handlers is
    'The kinds whose handler is a SQL function. Example: select * from errand.handlers where problem is not null;';
comment on column errand.handlers.kind is 'the kind';
comment on column errand.handlers.function is 'the function: errand.put_handler';
comment on column errand.handlers.timeout is 'a call that takes longer is cancelled, and the attempt has failed';
comment on column errand.handlers.registered_by is 'the login that has registered it; null = errand migrate';
comment on column errand.handlers.registered_at is 'when it was registered so';
comment on column errand.handlers.problem is 'why it is not called; null = it is';
