-- bulk_status: the bulk actions of the last year, newest first. Filters by errors quote them, so errand_monitor sees no
-- text of theirs.
-- errand: for ops, monitor
-- errand: topic bulk
create or replace view errand.bulk_status as
select
    id,
    action,
    case
        when (select errand_internal.sees_content()) then filter
        else filter - '{error,fingerprint}'::text[]
    end as filter,
    case when stopped_by is not null then 'stopped' when ended_at is not null then 'done'
        when changed_at is not null then 'running' else 'waiting' end as state,
    case when ended_at is not null and stopped_by is null then 1
        when pass > 1 then 0.99
        else round((after_id - from_id) / greatest(upto_id - from_id, 1)::numeric, 3) end as progress,
    changed,
    skipped,
    requested_at,
    who as requested_by,
    reason,
    changed_at,
    ended_at,
    stopped_by,
    stopped_reason
from errand.bulk
order by id desc;
comment on view errand.bulk_status is
    'Bulk actions: what maintenance changes by a filter in batches, and how far it is; newest first';
comment on column errand.bulk_status.id is 'the number of the bulk action, for errand.stop_bulk';
comment on column errand.bulk_status.action is 'cancel or discard';
comment on column errand.bulk_status.filter is 'which jobs it changes; for errand_monitor without errors';
comment on column errand.bulk_status.state is 'waiting, running, done or stopped';
comment on column errand.bulk_status.progress is 'how much is done, 0 to 1: the share of the ids that it has read';
comment on column errand.bulk_status.changed is 'number of jobs that it has changed';
comment on column errand.bulk_status.skipped is
    'number of jobs that another session had locked: they are read again, at most ten times';
comment on column errand.bulk_status.requested_at is 'when it was requested';
comment on column errand.bulk_status.requested_by is 'by which login';
comment on column errand.bulk_status.reason is 'why, in the words of the operator';
comment on column errand.bulk_status.changed_at is 'when its last batch was made; null = none yet';
comment on column errand.bulk_status.ended_at is 'when it was done or stopped; null = it goes on';
comment on column errand.bulk_status.stopped_by is 'who stopped it';
comment on column errand.bulk_status.stopped_reason is 'why, in the words of that operator';
