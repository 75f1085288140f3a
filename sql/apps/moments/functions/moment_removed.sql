-- moment_removed: trigger function that withdraws the pushes of a moment that is removed before they are sent: it was
-- replaced or deleted, its sender erased, or its pair has ended. Those of a newer moment stay.
create or replace function moments.moment_removed() returns trigger
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
begin
    perform notify.withdraw(
        case existing.inviter when old.sender then existing.invitee else existing.inviter end, 'moment/' || existing.id)
    from pairing.pair as existing
    where existing.id = old.pair_id
        and not exists (
            select from moments.moment as newer
            where newer.pair_id = old.pair_id and newer.sender = old.sender and newer.current_at is not null);
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'moments.moment'::regclass and tgname = 'moment_removed'
    ) then
        create trigger moment_removed
        after delete on moments.moment
        for each row when (old.current_at is not null)
        execute function moments.moment_removed();
        comment on trigger moment_removed on moments.moment is 'Withdraws the pushes of a moment that is removed';
    end if;
end
$do$;
