-- erase_person: removes a user from this app: ends the user's pair, and removes all the user's pairs, the invites that
-- the user has created or redeemed, and the count of wrong codes. Returns the number of rows. For people.erase.
--
-- Sources of wrong codes, such as addresses, belong to no user here, and are deleted within two hours. One that is the
-- user's id is deleted at once.
create or replace function pairing.erase_person(user_id text) returns bigint
language plpgsql set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    gone bigint;
begin
    if not exists (select from pairing.person where person.user_id = $1) then
        return 0;
    end if;
    -- Tells other apps that the pair has ended, and locks the users' rows.
    perform pairing.disconnect($1);
    delete from pairing.wrong_code where source = $1;
    with pairs as (
        delete from pairing.pair where inviter = $1 or invitee = $1 returning 1
    ),
    invites as (
        delete from pairing.invite where inviter = $1 or redeemed_by = $1 returning 1
    ),
    people as (
        delete from pairing.person where person.user_id = $1 returning 1
    )
    select (select count(*) from pairs) + (select count(*) from invites) + (select count(*) from people) into gone;
    return gone;
end
$$;
