-- pair_status: current and past pairs.
-- errand: for enqueuer, ops, monitor
-- errand: hides inviter, invitee, ended_by
create or replace view pairing.pair_status as
select id as pair_id, inviter, invitee, paired_at, ended_at, ended_by
from pairing.pair;
comment on view pairing.pair_status is 'Current and past pairs';
comment on column pairing.pair_status.pair_id is 'the pair''s id';
comment on column pairing.pair_status.inviter is 'creator of the code';
comment on column pairing.pair_status.invitee is 'the user who redeemed it';
comment on column pairing.pair_status.paired_at is 'when the code was redeemed';
comment on column pairing.pair_status.ended_at is 'when one user disconnected; null = still a pair';
comment on column pairing.pair_status.ended_by is 'the user who disconnected';
