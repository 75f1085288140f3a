-- photo_stored: trigger function that makes a moment the current one when the store has its photo, in the transaction
-- that records it.
--
-- That transaction has locked the photo and the upload, which others lock after the pair. So it waits for no lock: if
-- another transaction is changing the pair's moments, a job does the rest.
-- errand: after make_current
create or replace function moments.photo_stored() returns trigger
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    pair uuid;
    user_id text;
    outcome text := 'later';
begin
    select existing.pair_id, existing.sender into pair, user_id from moments.moment as existing
        where existing.id = new.photo;
    if pair is null then
        return null;
    end if;
    perform from moments.pair as existing where existing.pair_id = pair for no key update skip locked;
    if found then
        outcome := moments.make_current(new.photo, may_wait => false);
    end if;
    if outcome = 'later' then
        perform errand.enqueue(
            'moment_arrival', jsonb_build_object('moment', new.photo), priority => 1,
            unique_key => 'moment_arrival/' || new.photo, subject => user_id);
    end if;
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'media.upload'::regclass and tgname = 'moment_stored'
    ) then
        create trigger moment_stored
        after update of delivered_at on media.upload
        for each row when (old.delivered_at is null and new.delivered_at is not null and new.photo is not null)
        execute function moments.photo_stored();
        comment on trigger moment_stored on media.upload is
            'Makes a moment the current one when the store has its photo';
    end if;
end
$do$;
