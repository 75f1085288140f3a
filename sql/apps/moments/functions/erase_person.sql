-- erase_person: ends a user's pair, which removes its moments, of both users, with rows and objects. Removes
-- notifications about the user's pairs, which have the sender's name. Returns the number of rows. For people.erase,
-- before the pairs are erased.
create or replace function moments.erase_person(user_id text) returns bigint
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
#variable_conflict use_column
declare
    existing pairing.pair;
    gone bigint;
    part bigint;
begin
    select count(*) into gone
    from pairing.partner_of($1) as mine
    join moments.moment as target on target.pair_id = mine.pair_id;
    -- Locks the users, the pair, its moments and their photos, in the order of all who do so. Earlier pairs have none.
    perform pairing.disconnect($1) from pairing.partner_of($1);
    for existing in select * from pairing.pair where inviter = $1 or invitee = $1 order by id loop
        delete from notify.message
        where id in (select message_id from notify.delivery where user_id in (existing.inviter, existing.invitee))
            and num_nonnulls(title, words) > 0 and data ->> 'pair_id' = existing.id::text;
        get diagnostics part = row_count;
        gone := gone + part;
    end loop;
    return gone;
end
$$;
