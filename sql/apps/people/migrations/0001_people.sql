-- 0001_people: display names, and the receipts of erasures.
--
-- Why     A partner's devices show the name. A person's data goes in one call, over all apps, and counts remain.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
-- errand: needs pairing, notify, rooms
create schema people;
comment on schema people is 'What concerns a person over all apps: the display name, the export and the erasure';
insert into errand.app (name) values ('people');

create table people.person (
    renamed_at timestamptz not null,
    user_id text not null,
    display_name text not null,
    constraint person_pkey primary key (user_id),
    constraint person_user_id check (length(user_id) between 1 and 200),
    constraint person_display_name check (length(display_name) between 1 and 100)
);
comment on table people.person is 'One row for each user with a display name';
comment on column people.person.renamed_at is 'when the name last changed';
comment on column people.person.user_id is 'the user, in the words of the app';
comment on column people.person.display_name is 'the name that the partner sees';

create table people.erasure (
    id bigint generated always as identity,
    erased_at timestamptz not null default clock_timestamp(),
    rows_in_all bigint not null,
    rows_by_app jsonb not null,
    reason text,
    constraint erasure_pkey primary key (id)
);
comment on table people.erasure is 'One row for each erasure: numbers only, without the person';
comment on column people.erasure.id is 'the receipt''s id';
comment on column people.erasure.erased_at is 'when the rows were removed';
comment on column people.erasure.rows_in_all is 'number of rows that were removed or anonymised';
comment on column people.erasure.rows_by_app is 'the same for each app; errand = the jobs and actions of the engine';
comment on column people.erasure.reason is 'why, in the words of the caller; never the person''s id';
