-- receipt_status: what was removed, in counts.
create or replace view media.receipt_status as
select
    id, reason, people, photos, objects,
    (select count(*) from media.removal where receipt_id = receipt.id) as objects_left, asked_at, finished_at
from media.receipt;
comment on view media.receipt_status is 'What was removed, in counts, and nothing else of it';
comment on column media.receipt_status.id is 'names the receipt';
comment on column media.receipt_status.reason is 'event_purge';
comment on column media.receipt_status.people is 'how many people were part of it';
comment on column media.receipt_status.photos is 'how many photos went';
comment on column media.receipt_status.objects is 'how many keys the store has confirmed to be without an object';
comment on column media.receipt_status.objects_left is 'how many it has not, the look for forgotten ones included';
comment on column media.receipt_status.asked_at is 'when the rows were deleted';
comment on column media.receipt_status.finished_at is 'when the last object was gone; null until then';
