-- invite_status: codes that were made, and what has become of them. One that is past its time is expired, marked or not.
create or replace view pairing.invite_status as
select
    id, code, inviter, case when state = 'live' and expires_at <= clock_timestamp() then 'expired' else state end as state,
    created_at, expires_at, ended_at, redeemed_by
from pairing.invite;
comment on view pairing.invite_status is 'Codes that were made, and what has become of them';
comment on column pairing.invite_status.id is 'names the invite, in the order in which they were made';
comment on column pairing.invite_status.code is 'what the other user enters';
comment on column pairing.invite_status.inviter is 'who made it';
comment on column pairing.invite_status.state is 'live, used, expired or withdrawn (who made it was paired by another)';
comment on column pairing.invite_status.created_at is 'when it was made';
comment on column pairing.invite_status.expires_at is 'from when on it is dead';
comment on column pairing.invite_status.ended_at is 'when it was used, withdrawn or marked as expired';
comment on column pairing.invite_status.redeemed_by is 'who used it';
