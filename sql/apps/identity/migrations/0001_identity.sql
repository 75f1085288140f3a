-- 0001_identity: a virtual number for each user.
--
-- Why     Each user has one number of ten digits for ever, and no two users have the same. Numbers are drawn ahead.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema identity;
comment on schema identity is
    'Virtual numbers: assigned by the API servers, drawn ahead by the job number_pool';
insert into errand.app (name) values ('identity');

create table identity.setting (
    is_only boolean not null default true,
    pool_target int not null default 100000,
    constraint setting_pkey primary key (is_only),
    constraint setting_once check (is_only),
    constraint setting_pool_target check (pool_target between 1 and 1000000)
);
comment on table identity.setting is 'One row: how many free numbers are drawn ahead';
comment on column identity.setting.is_only is 'true: allows one row';
comment on column identity.setting.pool_target is 'free numbers that the job number_pool draws ahead';
insert into identity.setting default values;

create table identity.pool (
    is_only boolean not null default true,
    passed bigint not null default 0,
    passed_at timestamptz not null default clock_timestamp(),
    filled_at timestamptz,
    constraint pool_pkey primary key (is_only),
    constraint pool_once check (is_only)
) with (fillfactor = 70);
comment on table identity.pool is 'One row: the last run of the job number_pool, which locks it';
comment on column identity.pool.is_only is 'true: allows one row';
comment on column identity.pool.passed is
    'value of identity.free_position at passed_at: a row of identity.free_number up to it was skipped';
comment on column identity.pool.passed_at is 'when passed was read';
comment on column identity.pool.filled_at is 'when the pool was last full; null = never';
insert into identity.pool default values;

create sequence identity.free_position;
comment on sequence identity.free_position is
    'The position of the free number that identity.assign took last. Sessions that assign wait for no lock of each '
    'other';

create table identity.free_number (
    position bigint not null,
    number text collate "C" not null,
    constraint free_number_pkey primary key (position)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000);
comment on table identity.free_number is
    'One row for each number that was drawn ahead. It may be assigned by now: identity.number decides';
comment on column identity.free_number.position is
    'position: identity.assign takes the row of its own value of identity.free_position, and no other';
comment on column identity.free_number.number is 'ten random digits, the first of which is not 0';

create table identity.number (
    assigned_at timestamptz not null default clock_timestamp(),
    number text collate "C" not null,
    user_id text,
    constraint number_pkey primary key (number),
    constraint number_user_id_key unique (user_id),
    constraint number_digits check (number ~ '^[1-9][0-9]{9}$'),
    constraint number_user_id check (length(user_id) between 1 and 200)
);
comment on table identity.number is 'One row for each number that was ever assigned; it is never deleted';
comment on column identity.number.assigned_at is 'when it was assigned';
comment on column identity.number.number is 'ten digits, the first of which is not 0';
comment on column identity.number.user_id is
    'its user, in the words of the app; null = the user was erased, and the number is never assigned again';
