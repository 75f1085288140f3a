-- check_uniqueness: checks how long a job of errand.enqueue has its unique key, and returns the key if it has that only
-- while it waits, else null.
--
-- Raises ER422 for a value out of bounds, for one without a key, and for two that contradict each other.
create or replace function errand_internal.check_uniqueness(
    unique_key text, on_conflict text, unique_for interval, unique_while text, no_later_than interval,
    context text default 'enqueue'
) returns text
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    named constant text := case
        when unique_for is not null then 'unique_for'
        when unique_while is not null then 'unique_while'
        when no_later_than is not null then 'no_later_than'
        else 'merge'
    end;
    joins constant boolean := on_conflict = 'merge' or no_later_than is not null;
begin
    if unique_key is null then
        raise exception '%: %: expected a unique_key beside it, got none', context, named using errcode = 'ER422';
    elsif unique_while not in ('waiting', 'unfinished') then
        raise exception '%: unique_while: expected waiting or unfinished, got %', context,
            quote_literal(left(unique_while, 120)) using errcode = 'ER422';
    -- A year as an interval is compared as one of 360 days.
    elsif not (unique_for > interval '0' and unique_for <= interval '366 days') then
        raise exception '%: unique_for: expected more than 0 and at most 1 year, got %', context, unique_for
            using errcode = 'ER422';
    elsif not (no_later_than > interval '0' and no_later_than <= interval '366 days') then
        raise exception '%: no_later_than: expected more than 0 and at most 1 year, got %', context, no_later_than
            using errcode = 'ER422';
    elsif no_later_than is not null and on_conflict is distinct from 'reschedule' then
        raise exception '%: no_later_than: expected on_conflict reschedule beside it, got %', context,
            coalesce(left(on_conflict, 120), 'null') using errcode = 'ER422';
    elsif joins and unique_while = 'unfinished' then
        raise exception '%: unique_while: expected waiting beside %, got unfinished', context,
            case when no_later_than is not null then 'no_later_than' else 'merge' end
            using errcode = 'ER422', hint = 'A job that runs can take nothing more: what comes then is a new job.';
    elsif unique_for is not null and (joins or unique_while = 'waiting') then
        raise exception '%: unique_for: expected a key that the job keeps until it ends, got one only while it waits',
            context
            using errcode = 'ER422', hint = 'Leave out unique_for, or no_later_than, merge and unique_while.';
    end if;
    return case when joins or unique_while = 'waiting' then unique_key end;
end
$$;
