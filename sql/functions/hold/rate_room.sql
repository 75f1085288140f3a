-- rate_room: how many jobs of the queue may start now; null if nobody has set a rate. Nobody else asks meanwhile: the
-- queue's rate is locked until this transaction ends.
--
-- The span is cut into twenty slices, and the one that is partly over counts in full: never too many, and at most a
-- twentieth too few. What was counted in slices to come, before the server's clock went back, counts as of now: for
-- another span, not until the clock has come back there.
create or replace function errand.rate_room(queue text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    known errand.rate;
    present bigint;
begin
    select * into known from errand.rate where rate.queue = rate_room.queue for update;
    if not found then
        return null;
    end if;
    present := errand.rate_slice(known.per);
    if present < any (known.slices) then
        known.slices := array(
            select least(slice, present) from unnest(known.slices) with ordinality as kept(slice, index) order by index);
        update errand.rate set slices = known.slices where rate.queue = rate_room.queue;
    end if;
    return greatest(0, known.allowed - (
        select coalesce(sum(started), 0)
        from unnest(known.slices, known.counts) as kept(slice, started)
        where slice >= present - 20));
end
$$;
comment on function errand.rate_room(text) is 'How many jobs of the queue may start now; null = no rate is set';
