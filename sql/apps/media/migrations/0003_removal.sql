-- 0003_removal: how photos are removed for good, and the receipts of it.
--
-- Why     a store may refuse a delete or be away: what is to go is kept in rows until it is gone, and what is left of it is a
--         receipt with counts.
-- Locks   nothing: everything is new.
-- Before  nothing was released before.
create table media.receipt (
    id bigint generated always as identity,
    asked_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    people int not null,
    photos int not null,
    objects int not null default 0,
    reason text not null,
    constraint receipt_pkey primary key (id),
    constraint receipt_reason check (reason ~ '^[a-z][a-z_]{0,49}$')
);
comment on table media.receipt is 'One row a removal of many photos: counts, and nothing that says whose or which';
comment on column media.receipt.id is 'names the receipt';
comment on column media.receipt.asked_at is 'when the rows were deleted';
comment on column media.receipt.finished_at is 'when the store had confirmed the last object; null until then';
comment on column media.receipt.people is 'how many people were part of it';
comment on column media.receipt.photos is 'how many photos went';
comment on column media.receipt.objects is 'how many keys the store has confirmed to be without an object, so far';
comment on column media.receipt.reason is 'what it was about: event_purge';

create table media.removal (
    id bigint generated always as identity,
    receipt_id bigint,
    asked_at timestamptz not null default clock_timestamp(),
    try_at timestamptz not null default clock_timestamp(),
    tried_at timestamptz,
    final_at timestamptz,
    tries int not null default 0,
    in_flight boolean not null,
    is_folder boolean not null default false,
    key text not null,
    error text,
    constraint removal_pkey primary key (id),
    constraint removal_key unique (key),
    constraint removal_for_receipt foreign key (receipt_id) references media.receipt (id)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000);
create index removal_try_index on media.removal (try_at, id);
create index removal_receipt_index on media.removal (receipt_id) where receipt_id is not null;
comment on table media.removal is
    'One row an object that is to go, written in the transaction that deletes its row, and kept until the store confirms';
comment on column media.removal.id is 'names it';
comment on column media.removal.receipt_id is 'the receipt that counts it; null where nobody counts';
comment on column media.removal.asked_at is 'when it was asked for';
comment on column media.removal.try_at is 'not to be tried before; while it is being tried, when another one may';
comment on column media.removal.tried_at is 'when it was last tried';
comment on column media.removal.final_at is 'when nothing can be on its way under the key any more; null before the first try';
comment on column media.removal.tries is 'how often it was tried';
comment on column media.removal.in_flight is
    'whether somebody may be storing it just now: then it is removed once more when that has settled';
comment on column media.removal.is_folder is 'whether the key is the beginning of many, all of which are to go';
comment on column media.removal.key is 'where it lies in the object store';
comment on column media.removal.error is 'why the last try failed';
