-- removal_status: the objects to be removed that the store has not confirmed yet.
-- errand: for ops, monitor
-- errand: hides key, error
create or replace view media.removal_status as
select
    id, key, is_folder,
    case
        when error is not null then 'refused' when tries = 0 then 'waiting' when in_flight then 'confirming'
        else 'trying'
    end as state,
    asked_at, tries, tried_at, try_at, error, receipt_id
from media.removal;
comment on view media.removal_status is 'The objects to be removed that the store has not confirmed yet';
comment on column media.removal_status.id is 'the removal''s id';
comment on column media.removal_status.key is 'its key in the object store';
comment on column media.removal_status.is_folder is 'whether the key is a folder';
comment on column media.removal_status.state is
    'waiting for its first try; trying; confirming: removed, and checked once more; refused: see error';
comment on column media.removal_status.asked_at is 'when it was listed';
comment on column media.removal_status.tries is 'number of tries';
comment on column media.removal_status.tried_at is 'time of the last try';
comment on column media.removal_status.try_at is 'time of the next try';
comment on column media.removal_status.error is 'error of the last try';
comment on column media.removal_status.receipt_id is 'the receipt that counts it';
