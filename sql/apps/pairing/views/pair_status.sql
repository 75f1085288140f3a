-- pair_status: pairs that are and were.
create or replace view pairing.pair_status as
select id as pair_id, inviter, invitee, paired_at, ended_at, ended_by
from pairing.pair;
comment on view pairing.pair_status is 'Pairs that are and were';
comment on column pairing.pair_status.pair_id is 'names the pair';
comment on column pairing.pair_status.inviter is 'who made the code';
comment on column pairing.pair_status.invitee is 'who redeemed it';
comment on column pairing.pair_status.paired_at is 'when it was redeemed';
comment on column pairing.pair_status.ended_at is 'when one of the two disconnected; null while they are a pair';
comment on column pairing.pair_status.ended_by is 'which of the two that was';
