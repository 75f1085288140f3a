-- invite_status: codes that were made, and what has become of them. One that is past its time is expired, marked or not.
--
-- A live code is not shown here: who reads it could redeem it. pairing.invites_of shows a user's own.
create or replace view pairing.invite_status as
select
    id, case when is_live then null else code end as code, inviter,
    case when state = 'live' and not is_live then 'expired' else state end as state,
    created_at, expires_at, ended_at, redeemed_by
from pairing.invite
cross join lateral (select state = 'live' and expires_at > clock_timestamp() as is_live) as present;
comment on view pairing.invite_status is 'Codes that were made, and what has become of them; live codes are not shown';
comment on column pairing.invite_status.id is 'names the invite, in the order in which they were made';
comment on column pairing.invite_status.code is 'what the other user enters; null while it is live';
comment on column pairing.invite_status.inviter is 'who made it';
comment on column pairing.invite_status.state is 'live, used, expired or withdrawn (who made it was paired by another)';
comment on column pairing.invite_status.created_at is 'when it was made';
comment on column pairing.invite_status.expires_at is 'from when on it is dead';
comment on column pairing.invite_status.ended_at is 'when it was used, withdrawn or marked as expired';
comment on column pairing.invite_status.redeemed_by is 'who used it';
