-- prune_invites_v1: deletes invites that ended 30 days ago. Until then redeem_invite can say why a code is invalid.
--
-- Invites end in about the order of their creation, so only the oldest are read: 1,000 index entries a call, and as
-- many deletions at most. Returns the number of deleted invites. Also deletes counts of wrong codes that are over an
-- hour old.
create or replace function pairing.prune_invites_v1(max_invites int default 1000) returns int
language sql security definer set search_path = pg_catalog, pairing, pg_temp as $$
    with past as (
        delete from pairing.wrong_code where since <= now() - interval '1 hour'
    ),
    oldest as (
        select id, ended_at
        from pairing.invite
        order by id
        limit max_invites
    ),
    gone as (
        delete from pairing.invite
        where id = any (array(select id from oldest where ended_at <= now() - interval '30 days'))
        returning id
    )
    select count(*)::int from gone
$$;
