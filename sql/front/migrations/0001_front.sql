-- 0001_front: the tables of the front: its cells, and which of them takes a routing key.
--
-- Why     An application enqueues, and operators look and act, without knowing in which of many cells a job is.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema if not exists errand;
comment on schema errand is 'Errand, the front of many cells: the functions and views of a cell, on all of them';

create schema errand_front;
comment on schema errand_front is
    'How the front of Errand reaches its cells; private, but for errand_front.cell_status';

create extension if not exists plproxy;

create table errand_front.cell (
    added_at timestamptz not null default now(),
    partition int not null,
    cell smallint not null,
    has_moved boolean not null default false,
    state text not null default 'active',
    address text not null,
    constraint cell_pkey primary key (cell),
    constraint cell_partition unique (partition) deferrable,
    constraint cell_number check (cell between 0 and 1023),
    constraint cell_state check (state in ('active', 'draining'))
);
comment on table errand_front.cell is 'The cells behind this front: errand_front.put_cell and its siblings change them';
comment on column errand_front.cell.added_at is 'when it was added';
comment on column errand_front.cell.partition is 'its number in PL/Proxy''s cluster, from 0 on without gaps';
comment on column errand_front.cell.cell is 'its number: errand.cell';
comment on column errand_front.cell.has_moved is 'whether jobs with its ids were moved to other cells';
comment on column errand_front.cell.state is 'active; or draining: it gets no new jobs';
comment on column errand_front.cell.address is 'how PL/Proxy connects, without user and password';

create table errand_front.slot (
    slot smallint not null,
    cell smallint not null,
    was smallint,
    constraint slot_pkey primary key (slot),
    constraint slot_cell foreign key (cell) references errand_front.cell (cell),
    constraint slot_was foreign key (was) references errand_front.cell (cell)
);
comment on table errand_front.slot is 'The 1,024 slots of routing keys, each with the cell that takes its jobs';
comment on column errand_front.slot.slot is 'the hash of the key modulo 1,024';
comment on column errand_front.slot.cell is 'the cell that takes jobs with such keys';
comment on column errand_front.slot.was is
    'the cell that took them before, while it may still have unfinished jobs with such unique keys';

create table errand_front.routes_lock ();
comment on table errand_front.routes_lock is
    'Empty. Locked by sessions that enqueue unique keys, and by the one that changes the routes';
