-- handlers: the kinds whose handler is a SQL function or an endpoint, and what keeps one from being called.
--
--   select * from errand.handlers where problem is not null;
--
-- errand: for ops, monitor
-- errand: topic handlers, endpoints
create or replace view errand.handlers as
select
    kind,
    function,
    endpoint,
    timeout,
    registered_by,
    registered_at,
    case
        when function is not null then errand_internal.handler_problem(function, registered_by)
        else errand_internal.endpoint_problem(endpoint)
    end as problem
from errand.handler;
comment on view errand.handlers is
    'The kinds whose handler is a SQL function or an endpoint. '
    'Example: select * from errand.handlers where problem is not null;';
comment on column errand.handlers.kind is 'the kind';
comment on column errand.handlers.function is 'the function: errand.put_handler; null = an endpoint handles it';
comment on column errand.handlers.endpoint is 'the endpoint: errand.put_http_handler; null = a function handles it';
comment on column errand.handlers.timeout is
    'a call of the function that takes longer is cancelled, and the attempt has failed';
comment on column errand.handlers.registered_by is 'the login that has registered it; null = errand migrate';
comment on column errand.handlers.registered_at is 'when it was registered so';
comment on column errand.handlers.problem is 'why it is not called; null = it is';
