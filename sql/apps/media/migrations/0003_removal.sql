-- 0003_removal: objects to be removed from the store, and the receipts of removals.
--
-- Why     A store may refuse a delete or be down. So objects are listed in rows until they are gone, and a receipt with
--         counts remains.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
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
comment on table media.receipt is 'One row for each removal of many photos: numbers only, without owners or keys';
comment on column media.receipt.id is 'the receipt''s id';
comment on column media.receipt.asked_at is 'when the rows were deleted';
comment on column media.receipt.finished_at is 'when the store had confirmed the last object; null until then';
comment on column media.receipt.people is 'number of people';
comment on column media.receipt.photos is 'number of photos';
comment on column media.receipt.objects is 'number of keys without an object so far, as the store has confirmed';
comment on column media.receipt.reason is 'the cause: event_purge, event_deletion, erasure';

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
    'One row for each object to be removed, written in the transaction that deletes its row. It stays until the store '
    'confirms';
comment on column media.removal.id is 'the removal''s id';
comment on column media.removal.receipt_id is 'the receipt that counts it; null if none does';
comment on column media.removal.asked_at is 'when it was listed';
comment on column media.removal.try_at is 'the earliest time of the next try';
comment on column media.removal.tried_at is 'time of the last try';
comment on column media.removal.final_at is 'when no upload of the key can still run; null before the first try';
comment on column media.removal.tries is 'number of tries';
comment on column media.removal.in_flight is
    'whether an upload of it may be running: then it is removed every 30 s until final_at';
comment on column media.removal.is_folder is 'whether the key is a folder, all objects of which are to be removed';
comment on column media.removal.key is 'its key in the object store';
comment on column media.removal.error is 'error of the last try';
