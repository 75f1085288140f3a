-- refused_enqueues: enqueues that inserted no job, by kind and reason. Those of a transaction that was rolled back
-- don't count.
--
-- reason is
--   unique       an unfinished job has the unique key: on_conflict is keep
--   period       the key is another job's for a time: unique_for
--   running      the job with the key runs, so it could not be replaced or rescheduled
--   replaced, rescheduled, merged
--                the waiting job with the key was changed as on_conflict asks
--   repeated     a request of the HTTP API came again with its Idempotency-Key
-- errand: for ops, monitor
-- errand: topic enqueue
create or replace view errand.refused_enqueues as
select kind, reason, sum(enqueues)::bigint as enqueues,
    coalesce(sum(enqueues) filter (where refused_at between now() - interval '5 minutes' and now()), 0)::bigint
        as lately,
    max(refused_at) as last_at
from (
    select kind, reason, enqueues, refused_at from errand.refused_enqueue
    union all
    select kind, reason, enqueues, last_at from errand.refused_total) as either
group by kind, reason;
comment on view errand.refused_enqueues is 'Enqueues that inserted no job, by kind and reason';
comment on column errand.refused_enqueues.kind is 'the kind that was to be enqueued';
comment on column errand.refused_enqueues.reason is
    'unique, period, running, replaced, rescheduled, merged or repeated';
comment on column errand.refused_enqueues.enqueues is 'number of enqueues since the kind''s first one';
comment on column errand.refused_enqueues.lately is 'number of enqueues of the last 5 minutes';
comment on column errand.refused_enqueues.last_at is 'when the last one was, by the minute';
