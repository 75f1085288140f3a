-- promote_v2: errand.promote_v1, which also says whether anything waits for its time at all: where nothing does, there is no
-- need to ask several times a second.
create or replace function errand.promote_v2(max_jobs int, since timestamptz)
returns table (promoted int, last_run_at timestamptz, waits boolean)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    select
        done.promoted, done.last_run_at,
        exists (select from errand.job where line is null)
            or exists (select from errand.queue where paused_until is not null)
    from errand.promote_v1(max_jobs, since) as done;
end
$$;
comment on function errand.promote_v2(int, timestamptz) is
    'Housekeeping: puts scheduled jobs that are due in line; returns how many, the last one''s time, and whether more wait';
