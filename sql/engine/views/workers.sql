-- workers: the workers that hold a lease.
-- errand: for ops, monitor
-- errand: topic workers
create or replace view errand.workers as
select
    id, name, version, queues, kinds, running, started_at, heartbeat_at, heartbeat_at + lease as lost_at,
    heartbeat_at + lease <= now() as is_lost, drained_at, drained_by, drained_reason, slots
from errand.worker;
comment on view errand.workers is
    'The workers that hold a lease; lost_at is when the lease of a worker without heartbeats ends';
comment on column errand.workers.id is 'the worker''s id: each start has a new one';
comment on column errand.workers.name is 'host:pid';
comment on column errand.workers.version is 'the program''s version';
comment on column errand.workers.queues is 'the queues that it claims from';
comment on column errand.workers.kinds is 'the kinds that it can run';
comment on column errand.workers.running is 'number of its running jobs at its last heartbeat';
comment on column errand.workers.started_at is 'when it registered';
comment on column errand.workers.heartbeat_at is 'its last heartbeat';
comment on column errand.workers.lost_at is 'when its lease ends without another heartbeat';
comment on column errand.workers.is_lost is
    'whether its lease has ended: it is lost if it is still silent some seconds later';
comment on column errand.workers.drained_at is 'since when it claims nothing; null = it claims';
comment on column errand.workers.drained_by is 'who drained it';
comment on column errand.workers.drained_reason is 'why, in the words of the operator';
comment on column errand.workers.slots is 'how many jobs it runs at once; null = it did not say';
