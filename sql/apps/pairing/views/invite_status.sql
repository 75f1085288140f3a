-- invite_status: the codes and their states. A code after its expiry is expired, marked or not.
--
-- A live code is hidden: its reader could redeem it. pairing.invites_of shows a user's own codes.
-- errand: for enqueuer, ops, monitor
-- errand: hides code, inviter, redeemed_by
create or replace view pairing.invite_status as
select
    id, case when is_live then null else code end as code, inviter,
    case when state = 'live' and not is_live then 'expired' else state end as state,
    created_at, expires_at, ended_at, redeemed_by
from pairing.invite
cross join lateral (select state = 'live' and expires_at > clock_timestamp() as is_live) as present;
comment on view pairing.invite_status is 'The codes and their states; live codes are hidden';
comment on column pairing.invite_status.id is 'the invite''s id, in the order of creation';
comment on column pairing.invite_status.code is 'the code; null while it is live';
comment on column pairing.invite_status.inviter is 'its creator';
comment on column pairing.invite_status.state is 'live, used, expired or withdrawn (its creator is in another pair)';
comment on column pairing.invite_status.created_at is 'when it was created';
comment on column pairing.invite_status.expires_at is 'its expiry';
comment on column pairing.invite_status.ended_at is 'when it was used, withdrawn or marked as expired';
comment on column pairing.invite_status.redeemed_by is 'the user who redeemed it';
