-- outgoing_v1: returns the first batch of jobs that left this cell by a move, or by any, and whose arrival is not
-- confirmed.
create or replace function errand_internal.outgoing_v1(of_move uuid default null)
returns table (move uuid, batch int, to_cell int, jobs text)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select move, batch, to_cell::int, jobs::text
    from errand.outgoing
    where of_move is null or move = of_move
    order by taken_at, move, batch
    limit 1
$$;
