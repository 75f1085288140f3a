-- fill_pool_v1: draws up to max_numbers free numbers ahead, until there are as many as identity.setting says. Returns
-- how many it has drawn; less than max_numbers if the pool is full.
--
-- It appends behind the last position. While it commits, identity.assign may pass some of these positions, and a
-- transaction that is rolled back leaves its row behind. Such rows are deleted after a minute. Returns 0 while another
-- call fills the pool.
create or replace function identity.fill_pool_v1(max_numbers int default 5000) returns int
language plpgsql security definer set search_path = pg_catalog, identity, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    present constant timestamptz := clock_timestamp();
    existing identity.pool;
    used bigint;
    highest bigint;
    wanted int;
begin
    select * into existing from identity.pool for update skip locked;
    if not found then
        return 0;
    end if;
    select case when is_called then last_value else 0 end into used from identity.free_position;
    if existing.passed_at <= present - interval '1 minute' then
        -- A row that a transaction is about to take is left for the next call.
        delete from identity.free_number
        where position = any (array(
            select position
            from identity.free_number
            where position <= existing.passed
            order by position
            limit 10000
            for update skip locked));
        existing.passed := used;
        existing.passed_at := present;
    end if;
    highest := greatest(used, (select max(position) from identity.free_number));
    wanted := least(fill_pool_v1.max_numbers, (select pool_target from identity.setting) - (highest - used));
    if wanted > 0 then
        insert into identity.free_number (position, number)
        select highest + n, identity.new_number() from generate_series(1, wanted) as n;
    end if;
    update identity.pool
    set passed = existing.passed, passed_at = existing.passed_at,
        filled_at = case when wanted < fill_pool_v1.max_numbers then present else filled_at end;
    return greatest(0, wanted);
end
$$;
