-- rescue_v2: errand.rescue_v1, which also sets those aside that have now been running in two crashes of their worker: one
-- of them may be what ends it, and they go back in line one at a time (errand.release_crashed_v1).
create or replace function errand.rescue_v2(scan boolean)
returns table (lost_workers int, rescued int, failed int)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
    return query
    select done.lost_workers, done.rescued, done.failed
    from errand.rescue_v1(scan) as done;
    perform errand.park(suspect.id, 'crash')
    from (
        select id from errand.job where crashes >= 2 and state = 'available' order by id for update skip locked
    ) as suspect;
end
$$;
comment on function errand.rescue_v2(boolean) is
    'Housekeeping: puts the jobs of lost workers back in line, or sets them aside after two crashes, and for good after three';
