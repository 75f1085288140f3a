-- release_v1: jobs with these limit keys have just ended: those that wait for their slots go in line, in the same
-- transaction. A claim behind it takes them at once, where their turn has come. Where another session holds the limits'
-- lock, housekeeping does it within 200 ms.
create or replace function errand.release_v1(limit_keys text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    key text;
begin
    perform set_config(
        'errand.position_before', (select case when is_called then last_value else 0 end from errand.job_position)::text, true);
    for key in
        select distinct asked
        from unnest(limit_keys) as asked
        where errand.limit_of(asked) is not null or exists (select from errand.job where parked_for = 'limit:' || asked)
        order by asked
    loop
        -- Before it looks: a claim that is under way may be parking a job just now, for the place that has fallen free.
        exit when not errand.lock_limits();
        perform errand.release_limit(key);
    end loop;
end
$$;
comment on function errand.release_v1(text[]) is
    'For workers: puts jobs in line that wait for the places of ended ones with these limit keys';
