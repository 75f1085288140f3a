-- remove_objects: lists all cards for removal from the store. Returns how many objects are left; with reason null, how
-- many cards there are. For errand migrate --drop-app.
-- errand: after remove_cards
create or replace function quotes.remove_objects(reason text) returns bigint
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
begin
    if reason is null then
        return (select count(*) from quotes.card);
    end if;
    delete from quotes.card;
    if found then
        perform media.remove_folder('cards/', reason);
    end if;
    perform media.enqueue_removals_v1();
    return (select count(*) from media.removal);
end
$$;
