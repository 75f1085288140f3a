-- invites_of: returns the codes that a user has created, newest first, with their states, until 30 days after their
-- end.
--
--   select code, state, expires_at from pairing.invites_of('user-17');
--
-- Only this call shows a live code again, to the user who created it. state is as in pairing.invite_status.
-- errand: for enqueuer, ops
create or replace function pairing.invites_of(user_id text)
returns table (
    id bigint, code text, state text, created_at timestamptz, expires_at timestamptz, ended_at timestamptz,
    redeemed_by text
)
language sql stable security definer set search_path = pg_catalog, pairing, pg_temp as $$
    select
        existing.id, existing.code,
        case when existing.state = 'live' and existing.expires_at <= clock_timestamp()
            then 'expired' else existing.state end,
        existing.created_at, existing.expires_at, existing.ended_at, existing.redeemed_by
    from pairing.invite as existing
    where existing.inviter = invites_of.user_id
    order by existing.id desc
$$;
