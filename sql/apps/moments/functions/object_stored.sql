-- object_stored: makes a moment the current one when the store has its photo, in the transaction that records it. For
-- media.delivered_v1.
--
-- That transaction has locked the photo and the upload, which others lock after the pair. So it waits for no lock: if
-- another transaction is changing the pair's moments, a job does the rest.
-- errand: after make_current
create or replace function moments.object_stored(key text, photo uuid) returns void
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    pair uuid;
    user_id text;
    outcome text := 'later';
begin
    select existing.pair_id, existing.sender into pair, user_id from moments.moment as existing
        where existing.id = object_stored.photo;
    if pair is null then
        return;
    end if;
    perform from moments.pair as existing where existing.pair_id = pair for no key update skip locked;
    if found then
        outcome := moments.make_current(object_stored.photo, may_wait => false);
    end if;
    if outcome = 'later' then
        perform errand.enqueue(
            'moment_arrival', jsonb_build_object('moment', object_stored.photo), priority => 1,
            unique_key => 'moment_arrival/' || object_stored.photo, subject => user_id);
    end if;
end
$$;
