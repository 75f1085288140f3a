-- worker_status: the workers that hold a lease.
-- errand: for ops, monitor
-- errand: topic workers
create or replace view errand.worker_status as
select
    id, name, version, queues, kinds, running, started_at, heartbeat_at, heartbeat_at + lease as lost_at,
    heartbeat_at + lease <= now() as is_lost, drained_at, drained_by, drained_reason, slots
from errand.worker;
comment on view errand.worker_status is
    'The workers that hold a lease; lost_at is when the lease of a worker without heartbeats ends';
comment on column errand.worker_status.id is 'the worker''s id: each start has a new one';
comment on column errand.worker_status.name is 'host:pid';
comment on column errand.worker_status.version is 'the program''s version';
comment on column errand.worker_status.queues is 'the queues that it claims from';
comment on column errand.worker_status.kinds is 'the kinds that it can run';
comment on column errand.worker_status.running is 'number of its running jobs at its last heartbeat';
comment on column errand.worker_status.started_at is 'when it registered';
comment on column errand.worker_status.heartbeat_at is 'its last heartbeat';
comment on column errand.worker_status.lost_at is 'when its lease ends without another heartbeat';
comment on column errand.worker_status.is_lost is
    'whether its lease has ended: it is lost if it is still silent some seconds later';
comment on column errand.worker_status.drained_at is 'since when it claims nothing; null = it claims';
comment on column errand.worker_status.drained_by is 'who drained it';
comment on column errand.worker_status.drained_reason is 'why, in the words of the operator';
comment on column errand.worker_status.slots is 'how many jobs it runs at once; null = it did not say';
