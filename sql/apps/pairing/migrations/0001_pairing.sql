-- 0001_pairing: invites, and the pairs that they make.
--
-- Why     an app's user makes a code, tells it to another one, and the two are a pair: each step is one call.
-- Locks   nothing: everything is new.
-- Before  nothing was released before.
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
    'One row a user who has made or tried a code. A transaction that changes what a user has locks it first, of two users in '
    'order, and updates it: another one with an older snapshot raises 40001';
comment on column pairing.person.user_id is 'who it is, in the words of the app';
comment on column pairing.person.pair_id is 'the pair that the user is in now; null where in none';
comment on column pairing.person.invites_made is 'how many codes the user has made';
comment on column pairing.person.wrong_tries is 'codes that were of no use, in the hour from wrong_since on';
comment on column pairing.person.wrong_since is 'when that hour began';

create table pairing.setting (
    is_only boolean not null default true,
    wrong_from_source int not null default 100,
    wrong_in_all int not null default 10000,
    constraint setting_pkey primary key (is_only),
    constraint setting_once check (is_only),
    constraint setting_bounds check (wrong_from_source >= 1 and wrong_in_all >= 1)
);
comment on table pairing.setting is 'One row: how many wrong codes an hour are looked at';
comment on column pairing.setting.is_only is 'true: there is one row';
comment on column pairing.setting.wrong_from_source is 'wrong codes an hour from one source';
comment on column pairing.setting.wrong_in_all is 'wrong codes an hour from all users together';
insert into pairing.setting default values;

create table pairing.wrong_code (
    source text not null,
    since timestamptz not null,
    tries int not null,
    constraint wrong_code_pkey primary key (source),
    constraint wrong_code_source check (length(source) <= 200)
) with (fillfactor = 70);
comment on table pairing.wrong_code is 'One row a source of wrong codes, and one for all; gone within an hour after its hour';
comment on column pairing.wrong_code.source is 'where they came from, in the words of the app; empty: from anywhere';
comment on column pairing.wrong_code.since is 'when its hour began';
comment on column pairing.wrong_code.tries is 'codes that were of no use, in that hour';

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
-- Of the codes that can be redeemed no two are the same.
create unique index invite_live_code_index on pairing.invite (code) where state = 'live';
create index invite_code_index on pairing.invite (code, id);
create index invite_due_index on pairing.invite (expires_at, id) where state = 'live';
create index invite_inviter_index on pairing.invite (inviter, id);
comment on table pairing.invite is 'One row a code that was made; gone 30 days after its end';
comment on column pairing.invite.id is 'names the invite, in the order in which they were made';
comment on column pairing.invite.created_at is 'when it was made';
comment on column pairing.invite.expires_at is '24 hours later: from then on it is dead, marked or not';
comment on column pairing.invite.ended_at is 'when it was used, withdrawn or marked as expired';
comment on column pairing.invite.state is 'live, used, expired or withdrawn; one that is live and past its time counts as expired';
comment on column pairing.invite.code is 'six of A-Z and 2-9 without I and O';
comment on column pairing.invite.inviter is 'who made it';
comment on column pairing.invite.redeemed_by is 'who used it';

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
comment on table pairing.pair is 'One row a pair, kept after its end';
comment on column pairing.pair.id is 'names the pair';
comment on column pairing.pair.paired_at is 'when the code was redeemed';
comment on column pairing.pair.ended_at is 'when one of the two disconnected; null while they are a pair';
comment on column pairing.pair.invite_id is 'the invite that made it, which may be gone by now';
comment on column pairing.pair.inviter is 'who made the code';
comment on column pairing.pair.invitee is 'who redeemed it';
comment on column pairing.pair.ended_by is 'which of the two disconnected';
