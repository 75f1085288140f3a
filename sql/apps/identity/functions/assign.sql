-- assign: returns a user's virtual number, and assigns one at the first call.
--
--   select identity.assign('user-17');
--
-- The number has ten digits, the first of which is not 0. It is random, belongs to one user, and never changes.
-- Concurrent calls for one user return the same number; the later one waits until the first commits. Calls for
-- different users don't wait for each other. Without a free number in the pool, the number is drawn at once.
--
-- Raises ER422 without a user, ER503 if no free number was found in 100 draws. Above READ COMMITTED, raises 40001 if
-- the user's number was assigned, or the pool changed, since the transaction's snapshot: retry the transaction.
-- errand: for enqueuer, ops
create or replace function identity.assign(user_id text) returns text
language plpgsql security definer set search_path = pg_catalog, identity, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    taken bigint;
    drawn text;
    own text;
begin
    perform errand_internal.check_user('assign', assign.user_id);
    select number into own from identity.number as existing where existing.user_id = assign.user_id;
    if found then
        return own;
    end if;
    for attempt in 1..100 loop
        -- A position of its own: no other session waits for this row, and no dead row is read. The row is missing if
        -- the pool is empty.
        taken := nextval('identity.free_position');
        delete from identity.free_number where position = taken returning number into drawn;
        insert into identity.number as new (number, user_id)
        values (coalesce(drawn, identity.new_number()), assign.user_id)
        on conflict do nothing
        returning new.number into own;
        if found then
            return own;
        end if;
        -- Another session has assigned the user's number, or this number is another user's.
        select number into own from identity.number as existing where existing.user_id = assign.user_id;
        if found then
            return own;
        end if;
    end loop;
    raise exception 'assign: no free number was found in 100 draws' using errcode = 'ER503';
end
$$;
