-- erase_person: removes the activities of a user, and those that show a message of the user, with their records and
-- jobs. Where the user has changed another one, the record stays without the name and the reason. Returns the number of
-- rows. For people.erase.
--
-- A phone that shows such an activity gets no push any more: iOS removes it 8 hours after its start at the latest.
create or replace function activity.erase_person(user_id text) returns bigint
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_column
declare
    existing uuid;
    gone bigint := 0;
    part bigint;
begin
    for existing in
        select id
        from activity.activity
        where activity.user_id = $1 or sender_id = $1
        order by id
        for update
    loop
        perform activity.cancel_jobs(existing, 'a person was erased');
        delete from activity.activity where id = existing;
        gone := gone + 1;
    end loop;
    update activity.change
    set who = 'erased', reason = case when reason is not null then 'erased' end
    -- Jobs, demonstrations and logins are on record there too, and a user's id may be the same word.
    where who = $1 and who !~ '^(job [0-9]+|demo)$' and not exists (select from pg_roles where rolname = $1);
    get diagnostics part = row_count;
    return gone + part;
end
$$;
