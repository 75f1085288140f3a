-- send: sends a photo to the sender's partner. When the photo is stored, it replaces the sender's moment.
--
--   select status, moment_id from moments.send('user-17', media.submit('moments/4711.heic', owner => 'user-17'));
--
-- The photo is one of media.submit whose owner is the sender. It may be stored already, or fail: then the moment
-- before stays, and moments.moment_status shows the failure. The order of the calls counts, not that of the storing.
--
-- status is one of
--   sent           moment_id is its id, which is that of the photo
--   already_sent   this photo is a moment of the pair: the call is idempotent
--   not_paired     the sender is in no pair; the photo stays
--   not_yours      the photo has another owner
--   no_photo       there is no such photo, or a newer moment has replaced it
--
-- Moments of one pair are sent one after the other, each until its transaction ends. Above READ COMMITTED, raises 40001
-- if the pair's moments or the photo have changed since the transaction's snapshot: retry the transaction. Raises ER422
-- without a sender; ER409 for a photo of an event or one with a purpose, since a later moment would remove it.
-- errand: for enqueuer, ops
create or replace function moments.send(sender text, photo uuid) returns table (status text, moment_id uuid)
language plpgsql security definer set search_path = pg_catalog, moments, pg_temp as $$
#variable_conflict use_column
declare
    pair uuid;
    next_number bigint;
    owner text;
    original text;
    purpose text;
begin
    perform errand_internal.check_user('send', $1, 'sender');
    select mine.pair_id into pair from pairing.partner_of($1) as mine;
    if pair is not null then
        begin
            insert into moments.pair as existing (pair_id, last_number) values (pair, 1)
            on conflict on constraint pair_pkey do update
            set last_number = existing.last_number + 1, changed_at = clock_timestamp()
            returning existing.last_number into next_number;
        exception
            -- One of the two was erased meanwhile.
            when foreign_key_violation then
                null;
        end;
        -- The pair may have ended before its row was locked. A disconnect from now on waits for this transaction.
        perform from pairing.pair as existing where existing.id = pair and existing.ended_at is null;
        if not found then
            pair := null;
        end if;
    end if;
    -- The pair, then the photo, then its upload: the order of all who change moments. A compression that is about to
    -- record its result waits, and so does the record that the store has it.
    select existing.owner, existing.source_key, existing.purpose into owner, original, purpose
    from media.photo as existing
    where existing.id = $2
    for share;
    perform from media.upload as existing where existing.photo = $2 for share;
    status := case
        when original is null then 'no_photo'
        when owner is distinct from $1 then 'not_yours'
        when pair is null then 'not_paired'
        when exists (select from moments.moment where id = $2) then 'already_sent'
        else 'sent'
    end;
    if status in ('sent', 'already_sent') then
        moment_id := $2;
    end if;
    if status = 'sent' then
        if starts_with(original, 'events/') then
            raise exception 'send: photo %: expected one whose original is not below events/', $2
                using errcode = 'ER409', hint = 'An event removes all objects there. Submit the photo by another key.';
        elsif purpose is not null then
            raise exception 'send: photo %: expected one without a purpose, got %', $2, purpose
                using errcode = 'ER409', hint = 'Submit the photo once more, by another key.';
        end if;
        insert into moments.moment (id, pair_id, number, sender) values ($2, pair, next_number, $1);
        if exists (select from media.photo_status as existing where existing.id = $2
            and existing.state = 'delivered') then
            perform moments.make_current($2, may_wait => true);
        end if;
    end if;
    return next;
end
$$;
