-- remove_folder: lists all that lies below a key for removal, registered or not, such as what a phone has stored and never
-- told. It is looked at once, when what was on its way has arrived. Raises ER422 for a key without a slash at its end.
create or replace function media.remove_folder(folder text, receipt bigint default null) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
begin
    perform media.check_key('remove_folder: folder', rtrim(remove_folder.folder, '/'));
    if right(remove_folder.folder, 1) <> '/' then
        raise exception 'remove_folder: folder: expected a slash at its end, got %', quote_literal(remove_folder.folder)
            using errcode = 'ER422';
    end if;
    insert into media.removal (receipt_id, in_flight, is_folder, key)
    values (remove_folder.receipt, true, true, remove_folder.folder)
    on conflict on constraint removal_key do nothing;
end
$$;
comment on function media.remove_folder(text, bigint) is 'Lists all that lies below a key for removal';
