-- erase_person: removes a person from this app. Returns the number of rows. For people.erase.
--
-- Events that the person hosts are deleted whole, with the photos of others: nobody else may edit, end or delete them.
-- From other events the person's photos and participation go, and archives with those photos. Objects leave the store
-- within seconds of the commit, and receipts with counts remain.
--
-- Idempotent. Raises ER422 without a user; above READ COMMITTED, 40001 if one of the events has changed since the
-- transaction's snapshot.
create or replace function events.erase_person(user_id text) returns bigint
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    hosted uuid;
    affected uuid[];
    own uuid[];
    made_receipt bigint;
    part bigint;
    removed bigint := 0;
begin
    perform errand_internal.check_user('erase_person', $1);
    -- In one order, so that two erasures don't block each other.
    perform
    from events.event
    where id = any (array(
        select id from events.event where host = $1
        union
        select event_id from events.participant where user_id = $1
        union
        select event_id from events.photo where user_id = $1))
    order by id
    for update;
    for hosted in select id from events.event where host = $1 order by id loop
        select count(*) into part from events.participant where event_id = hosted;
        removed := removed + 1 + part;
        select photos into part from events.purge_event(hosted, 'erasure', 'its host was erased');
        removed := removed + part;
    end loop;
    select coalesce(array_agg(photo), '{}'), coalesce(array_agg(event_id), '{}') into own, affected
    from events.photo
    where user_id = $1;
    if own <> '{}' then
        insert into media.receipt (reason, people, photos)
        values ('erasure', 1, cardinality(own))
        returning id into made_receipt;
        perform events.remove_archives(
            array(select id from events.archive where event_id = any (affected)), 'a person in it was erased',
            made_receipt);
        perform media.remove_photos(own, 'its owner was erased', made_receipt);
        removed := removed + cardinality(own);
    end if;
    with gone as (
        delete from events.participant where user_id = $1 returning event_id
    )
    select count(*), affected || coalesce(array_agg(event_id), '{}') into part, affected from gone;
    removed := removed + part;
    delete from events.exclusion where user_id = $1;
    get diagnostics part = row_count;
    removed := removed + part;
    -- A transaction with an older snapshot can't add a photo of the person now.
    update events.event set changes = changes + 1 where id = any (affected);
    if removed > 0 then
        perform errand.enqueue('object_removal');
    end if;
    return removed;
end
$$;
