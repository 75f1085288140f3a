-- horizon_blockers: what keeps vacuum from removing dead rows: the oldest snapshots and their holders.
-- errand: for ops, monitor
-- errand: topic retention
create or replace view errand.horizon_blockers as
select what, name, who, since, transactions, detail, hint
from errand_internal.horizon();
comment on view errand.horizon_blockers is
    'What keeps vacuum from removing dead rows: sessions, prepared transactions, replication slots; the oldest first';
comment on column errand.horizon_blockers.what is 'session, prepared transaction or replication slot';
comment on column errand.horizon_blockers.name is 'its process id, transaction or slot';
comment on column errand.horizon_blockers.who is 'its user';
comment on column errand.horizon_blockers.since is 'since when; null if unknown';
comment on column errand.horizon_blockers.transactions is 'number of transactions since';
comment on column errand.horizon_blockers.detail is 'program and state';
comment on column errand.horizon_blockers.hint is 'the call that ends it';
