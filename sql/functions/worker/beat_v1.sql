-- beat_v1: errand.beat_v2 as workers of the version before call it: others' marks are not asked for.
create or replace function errand.beat_v1(
    worker_ids bigint[], running int, marks jsonb, job_ids bigint[], lines bigint[]
) returns table (alive bigint[], lost bigint[])
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
as $$
begin
    return query
    select beat.alive, beat.lost
    from errand.beat_v2(worker_ids, running, marks, job_ids, lines) as beat;
end
$$;
comment on function errand.beat_v1(bigint[], int, jsonb, bigint[], bigint[]) is
    'For workers of the version before: errand.beat_v2 without others'' marks';
