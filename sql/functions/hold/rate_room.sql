-- rate_room: how many jobs of the queue may start now; null if nobody has set a rate. Nobody else asks meanwhile: the
-- queue's rate is locked until this transaction ends.
--
-- The span is cut into twenty slices, and the one that is partly over counts in full: never too many, and at most a
-- twentieth too few.
create or replace function errand.rate_room(queue text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    known errand.rate;
begin
    select * into known from errand.rate where rate.queue = rate_room.queue for update;
    if not found then
        return null;
    end if;
    return greatest(0, known.allowed - (
        select coalesce(sum(started), 0)
        from unnest(known.slices, known.counts) as kept(slice, started)
        where slice >= errand.rate_slice(known.per) - 20));
end
$$;
comment on function errand.rate_room(text) is 'How many jobs of the queue may start now; null = no rate is set';
