-- tell_ended: tells those who follow jobs that these have ended: NOTIFY errand_ended '4711:succeeded,4712:failed'.
-- Tells nobody unless errand.ended was called within half a minute. Returns whether it was.
create or replace function errand_internal.tell_ended(ids bigint[], states text[]) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if coalesce(pg_sequence_last_value('errand.followed_until'), 0) < extract(epoch from clock_timestamp()) then
        return false;
    end if;
    -- A payload has fewer than 8,000 bytes.
    perform errand_internal.notify('errand_ended', string_agg(id || ':' || state, ',' order by id))
    from unnest(ids, states) with ordinality as ended(id, state, index)
    group by index / 200;
    return true;
end
$$;
