-- removal_status: objects that are to go and that the store has not confirmed to be gone.
create or replace view media.removal_status as
select
    id, key, is_folder,
    case when error is not null then 'refused' when tries = 0 then 'waiting' when in_flight then 'confirming' else 'trying' end
    as state,
    asked_at, tries, tried_at, try_at, error, receipt_id
from media.removal;
comment on view media.removal_status is 'Objects that are to go and that the store has not confirmed to be gone';
comment on column media.removal_status.id is 'names it';
comment on column media.removal_status.key is 'where it lies in the object store';
comment on column media.removal_status.is_folder is 'whether the key is the beginning of many';
comment on column media.removal_status.state is
    'waiting for its first try; trying; settling: gone, and looked at once more; refused, see error';
comment on column media.removal_status.asked_at is 'when it was asked for';
comment on column media.removal_status.tries is 'how often it was tried';
comment on column media.removal_status.tried_at is 'when it was last tried';
comment on column media.removal_status.try_at is 'when it is tried next';
comment on column media.removal_status.error is 'why the last try failed';
comment on column media.removal_status.receipt_id is 'the receipt that counts it';
