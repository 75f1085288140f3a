-- receipt_status: the receipts of removals.
-- errand: for ops, monitor
create or replace view media.receipt_status as
select
    id, reason, people, photos, objects,
    (select count(*) from media.removal where receipt_id = receipt.id) as objects_left, asked_at, finished_at
from media.receipt;
comment on view media.receipt_status is 'The receipts of removals: numbers only';
comment on column media.receipt_status.id is 'the receipt''s id';
comment on column media.receipt_status.reason is 'event_purge or erasure';
comment on column media.receipt_status.people is 'number of people';
comment on column media.receipt_status.photos is 'number of photos';
comment on column media.receipt_status.objects is 'number of keys without an object so far, as the store has confirmed';
comment on column media.receipt_status.objects_left is
    'number of keys that it has not confirmed, including the check of the folder';
comment on column media.receipt_status.asked_at is 'when the rows were deleted';
comment on column media.receipt_status.finished_at is 'when the store had confirmed the last object; null until then';
