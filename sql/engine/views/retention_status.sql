-- retention_status: how long ended jobs stay. The rows without a kind are for all kinds without rows of their own.
-- errand: for ops, monitor
-- errand: topic retention
create or replace view errand.retention_status as
select
    rule.kind,
    rule.state,
    rule.keep,
    coalesce(retention.set_by, 'the program') as set_by,
    retention.set_at,
    retention.reason
from errand_internal.retentions() as rule
left join errand.retention on retention.kind = rule.kind and retention.state = rule.state
union all
select null, state, keep, 'the default', null, null
from (
    values
        ('succeeded', interval '7 days'), ('cancelled', interval '7 days'), ('obsolete', interval '7 days'),
        ('failed', interval '30 days')
) as usual(state, keep)
order by 1 nulls first, 2;
comment on view errand.retention_status is
    'How long ended jobs stay, by kind and state; without a kind: all kinds that have no row of their own';
comment on column errand.retention_status.kind is 'the jobs'' kind; null = all others';
comment on column errand.retention_status.state is 'succeeded, failed, cancelled or obsolete';
comment on column errand.retention_status.keep is 'how long they stay after their end';
comment on column errand.retention_status.set_by is
    'the login that called errand.set_retention; the program: the policy of its kind; or the default';
comment on column errand.retention_status.set_at is 'when it was set by errand.set_retention';
comment on column errand.retention_status.reason is 'why, in the words of the operator';
