-- put_own_schedule: creates a schedule of the caller's own or changes it, as errand.put_schedule does.
--
--   select errand.put_own_schedule('shop_report', '0 6 * * *', 'shop_report', time_zone => 'Europe/Paris');
--
-- The login may see, pause and drop it, and so may the members of that role; its jobs are their own too: errand.job.
-- It ticks while the login may enqueue. A login has 100 at most. Returns created, changed or unchanged. Raises ER409
-- for a name that another schedule has, ER422 for the 101st, and what errand.put_schedule does.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.put_own_schedule(
    name text, cron text, kind text, payload jsonb default '{}', time_zone text default 'UTC',
    missed text default 'latest', queue text default null, max_lateness interval default interval '1 minute',
    max_catch_up int default 100, priority int default null, tags text[] default null, limit_key text default null,
    subject text default null, overlap text default 'allow', jitter interval default null,
    starts_at timestamptz default null, ends_at timestamptz default null
) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    logins constant text[] := errand_internal.own_logins();
    most constant int := 100;
    response text;
begin
    response := errand.put_schedule(
        put_own_schedule.name, put_own_schedule.cron, put_own_schedule.kind, put_own_schedule.payload,
        put_own_schedule.time_zone, put_own_schedule.missed, put_own_schedule.queue,
        put_own_schedule.max_lateness, put_own_schedule.max_catch_up, put_own_schedule.priority, put_own_schedule.tags,
        put_own_schedule.limit_key, put_own_schedule.subject, put_own_schedule.overlap, put_own_schedule.jitter,
        put_own_schedule.starts_at, put_own_schedule.ends_at);
    if response = 'created' then
        update errand.schedule as fresh set owner = session_user where fresh.name = put_own_schedule.name;
    elsif not exists (
        select from errand.schedule as mine where mine.name = put_own_schedule.name and mine.owner = any (logins))
    then
        -- What it has changed is undone with the statement.
        raise exception 'put_own_schedule: name: expected one that no other has, got %',
            quote_literal(put_own_schedule.name) using errcode = 'ER409';
    end if;
    -- Concurrent calls may each take the last one: not worth a lock.
    if (select count(*) from errand.schedule as mine where mine.owner = session_user) > most then
        raise exception 'put_own_schedule: expected at most % schedules of one login, got another', most
            using errcode = 'ER422', hint = 'Drop one: select errand.drop_own_schedule(''…'').';
    end if;
    return response;
end
$$;
