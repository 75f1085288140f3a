-- lock_people: locks the rows of one or two users until the transaction ends, and creates missing ones.
--
-- A change of a user's invites or pairs locks the user's row, in the order of names, so that no two sessions wait for
-- each other. Raises ER422 for a name that is not 1 to 200 characters long.
create or replace function pairing.lock_people(context text, user_id text, other text default null) returns void
language plpgsql set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
begin
    if coalesce(length(lock_people.user_id), 0) not between 1 and 200 then
        raise exception '%: user_id: expected 1 to 200 characters, got %',
            context, coalesce(length(lock_people.user_id)::text, 'null') using errcode = 'ER422';
    end if;
    insert into pairing.person (user_id)
    select distinct who collate "C"
    from unnest(array[lock_people.user_id, lock_people.other]) as who
    where who is not null and not exists (select from pairing.person where person.user_id = who)
    order by 1
    on conflict do nothing;
    perform
    from pairing.person
    where person.user_id in (lock_people.user_id, lock_people.other)
    order by person.user_id collate "C"
    for no key update;
end
$$;
