-- 0001_pairing: invites, and the pairs of users.
--
-- Why     A user creates a code and tells it to another one, who redeems it: each step is one call.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema pairing;
comment on schema pairing is 'Invite codes and pairs: written by the API servers, kept by the job invite_expiry';
insert into errand.app (name) values ('pairing');

create table pairing.person (
    user_id text not null,
    pair_id uuid,
    invites_made bigint not null default 0,
    wrong_tries int not null default 0,
    wrong_since timestamptz,
    constraint person_pkey primary key (user_id),
    constraint person_user_id check (length(user_id) between 1 and 200),
    constraint person_wrong_tries check (wrong_tries >= 0 and (wrong_tries = 0 or wrong_since is not null))
) with (fillfactor = 80);
comment on table pairing.person is
    'One row for each user who has created or tried a code. A change of a user''s rows locks it first (of two users in '
    'order) and updates it, so an older snapshot raises 40001';
comment on column pairing.person.user_id is 'the user, in the words of the app';
comment on column pairing.person.pair_id is 'the user''s pair; null if in none';
comment on column pairing.person.invites_made is 'number of created codes';
comment on column pairing.person.wrong_tries is 'number of wrong codes in the hour from wrong_since on';
comment on column pairing.person.wrong_since is 'start of that hour';

create table pairing.setting (
    is_only boolean not null default true,
    wrong_from_source int not null default 100,
    wrong_in_all int not null default 10000,
    constraint setting_pkey primary key (is_only),
    constraint setting_once check (is_only),
    constraint setting_bounds check (wrong_from_source >= 1 and wrong_in_all >= 1)
);
comment on table pairing.setting is 'One row: how many wrong codes an hour are accepted';
comment on column pairing.setting.is_only is 'true: allows one row';
comment on column pairing.setting.wrong_from_source is 'wrong codes an hour from one source';
comment on column pairing.setting.wrong_in_all is
    'wrong codes an hour from all users together: after that many, a user has one instead of ten';
insert into pairing.setting default values;

create table pairing.wrong_code (
    source text not null,
    since timestamptz not null,
    tries int not null,
    constraint wrong_code_pkey primary key (source),
    constraint wrong_code_source check (length(source) <= 200)
) with (fillfactor = 70);
comment on table pairing.wrong_code is
    'One row for each source of wrong codes, and one for all; deleted within an hour after its hour';
comment on column pairing.wrong_code.source is 'the source, in the words of the app; empty = all';
comment on column pairing.wrong_code.since is 'start of its hour';
comment on column pairing.wrong_code.tries is 'number of wrong codes in that hour';

create table pairing.invite (
    id bigint generated always as identity,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,
    state text not null default 'live',
    code text not null,
    inviter text not null,
    redeemed_by text,
    constraint invite_pkey primary key (id),
    constraint invite_state check (state in ('live', 'used', 'expired', 'withdrawn')),
    constraint invite_ended check ((state = 'live') = (ended_at is null)),
    constraint invite_used check ((state = 'used') = (redeemed_by is not null)),
    constraint invite_code check (code ~ '^[A-HJ-NP-Z2-9]{6}$')
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000);
-- No two codes that can be redeemed are the same.
create unique index invite_live_code_index on pairing.invite (code) where state = 'live';
create index invite_code_index on pairing.invite (code, id);
create index invite_due_index on pairing.invite (expires_at, id) where state = 'live';
create index invite_inviter_index on pairing.invite (inviter, id);
create index invite_redeemed_by_index on pairing.invite (redeemed_by) where redeemed_by is not null;
comment on table pairing.invite is 'One row for each code, until 30 days after its end';
comment on column pairing.invite.id is 'the invite''s id, in the order of creation';
comment on column pairing.invite.created_at is 'when it was created';
comment on column pairing.invite.expires_at is '24 hours later: from then on it is dead, marked or not';
comment on column pairing.invite.ended_at is 'when it was used, withdrawn or marked as expired';
comment on column pairing.invite.state is
    'live, used, expired or withdrawn; a live one after expires_at counts as expired';
comment on column pairing.invite.code is 'six of A-Z and 2-9 without I and O';
comment on column pairing.invite.inviter is 'its creator';
comment on column pairing.invite.redeemed_by is 'the user who redeemed it';

create table pairing.pair (
    id uuid not null default gen_random_uuid(),
    paired_at timestamptz not null,
    ended_at timestamptz,
    invite_id bigint not null,
    inviter text not null,
    invitee text not null,
    ended_by text,
    constraint pair_pkey primary key (id),
    constraint pair_of_two check (inviter <> invitee),
    constraint pair_ended check ((ended_at is null) = (ended_by is null))
);
create index pair_inviter_index on pairing.pair (inviter);
create index pair_invitee_index on pairing.pair (invitee);
comment on table pairing.pair is 'One row for each pair; it stays after its end';
comment on column pairing.pair.id is 'the pair''s id';
comment on column pairing.pair.paired_at is 'when the code was redeemed';
comment on column pairing.pair.ended_at is 'when one user disconnected; null = still a pair';
comment on column pairing.pair.invite_id is 'its invite, which may be deleted by now';
comment on column pairing.pair.inviter is 'creator of the code';
comment on column pairing.pair.invitee is 'the user who redeemed it';
comment on column pairing.pair.ended_by is 'the user who disconnected';
