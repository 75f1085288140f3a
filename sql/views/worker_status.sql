-- worker_status: the workers that hold a lease.
create or replace view errand.worker_status as
select id, name, version, queues, kinds, running, started_at, beat_at, beat_at + lease as lost_at
from errand.worker;
comment on view errand.worker_status is 'The workers that hold a lease; lost_at is when one that stays silent counts as lost';
