-- 0001_moments: photo moments for couples.
--
-- Why     Each of a pair has one current moment. The photo that replaces it takes its rows and objects along.
-- Locks   pairing.pair and media.upload, for milliseconds: foreign keys.
-- Before  No version was released before this one.
-- errand: needs media, pairing, people, notify, rooms
create schema moments;
comment on schema moments is 'Photo moments for couples: sent by the API servers, stored by the jobs of the app media';
insert into errand.app (name) values ('moments');

create table moments.pair (
    pair_id uuid not null,
    changed_at timestamptz not null default clock_timestamp(),
    last_number bigint not null default 0,
    constraint pair_pkey primary key (pair_id),
    constraint pair_in_pairing foreign key (pair_id) references pairing.pair (id) on delete cascade
) with (fillfactor = 70);
comment on table moments.pair is
    'One row for each pair that has sent a moment or has ended. A change of the pair''s moments locks it first and '
    'updates it, so an older snapshot raises 40001';
comment on column moments.pair.pair_id is 'the pair';
comment on column moments.pair.changed_at is 'when its moments last changed';
comment on column moments.pair.last_number is 'the last number that a moment of the pair was given';

create table moments.moment (
    id uuid not null,
    pair_id uuid not null,
    number bigint not null,
    sent_at timestamptz not null default clock_timestamp(),
    current_at timestamptz,
    sender text not null,
    constraint moment_pkey primary key (id),
    constraint moment_number unique (pair_id, number),
    constraint moment_photo foreign key (id) references media.photo (id) on delete cascade,
    constraint moment_of_pair foreign key (pair_id) references moments.pair (pair_id) on delete cascade,
    constraint moment_sender check (length(sender) between 1 and 200)
);
comment on table moments.moment is
    'One row for each moment that no newer one has replaced: of a sender, the current one and those not stored yet';
comment on column moments.moment.id is 'the moment''s id, which is that of its photo';
comment on column moments.moment.pair_id is 'its pair';
comment on column moments.moment.number is
    'its number among the moments of the pair, in the order in which they were sent';
comment on column moments.moment.sent_at is 'when it was sent';
comment on column moments.moment.current_at is
    'when it became its sender''s current one and its receiver was told; null = it is not stored yet';
comment on column moments.moment.sender is 'the user who sent it';

insert into notify.profile (app, name, wakes, is_mutable, thread) values
    ('moments', 'new_moment', true, true, 'moments'),
    ('moments', 'paired', false, false, 'moments');
insert into notify.profile_text (profile, locale, title, body) values
    ('new_moment', 'en', '{name|Your partner}', 'A new moment for you'),
    ('new_moment', 'fr', '{name|Ta moitié}', 'Un nouveau moment pour toi'),
    ('paired', 'en', '{name|Your partner}', 'You are a pair now'),
    ('paired', 'fr', '{name|Ta moitié}', 'Vous êtes reliés maintenant');
