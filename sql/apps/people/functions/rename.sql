-- rename: sets a user's display name, and tells the partner's devices, and the user's own, to read it again.
--
--   select people.rename('user-17', 'Anna');
--
-- Returns renamed, or unchanged: then nobody is told. The user's devices get a background push and their room the event
-- renamed, those of the partner partner_renamed, with the pair's id only. A pair that is just forming is waited for:
-- its partner is told, or reads the new name. Raises ER422 without a user, and for a name that is not 1 to 100
-- characters long, is blank, or has control characters, line separators or characters that change the direction of
-- text.
-- errand: for enqueuer, ops
create or replace function people.rename(user_id text, display_name text) returns text
language plpgsql security definer set search_path = pg_catalog, people, pg_temp as $$
#variable_conflict use_column
declare
    pair uuid;
    receiver text;
begin
    perform errand_internal.check_user('rename', $1);
    if coalesce(length($2), 0) not between 1 and 100 then
        raise exception 'rename: display_name: expected 1 to 100 characters, got %', coalesce(length($2)::text, 'null')
            using errcode = 'ER422';
    elsif $2 ~ '^[[:space:]]*$'
        or $2 ~ E'[\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]' then
        raise exception 'rename: display_name: expected a name without control characters, got one with them or a blank'
            using errcode = 'ER422';
    end if;
    insert into people.person as existing (user_id, display_name, renamed_at) values ($1, $2, clock_timestamp())
    on conflict on constraint person_pkey do update
    set display_name = excluded.display_name, renamed_at = excluded.renamed_at
    where existing.display_name <> excluded.display_name;
    if not found then
        return 'unchanged';
    end if;
    perform notify.send($1, data => '{"event": "renamed"}', collapse => 'renamed');
    perform rooms.emit(rooms.user_room($1), 'renamed');
    -- After the name, as an erasure locks them.
    perform pairing.lock_people('rename', $1);
    select mine.pair_id, mine.partner into pair, receiver from pairing.partner_of($1) as mine;
    if pair is not null then
        perform notify.send(
            receiver, data => jsonb_build_object('event', 'partner_renamed', 'pair_id', pair),
            collapse => 'partner/' || pair);
        perform rooms.emit(rooms.user_room(receiver), 'partner_renamed', jsonb_build_object('pair_id', pair));
    end if;
    return 'renamed';
end
$$;
