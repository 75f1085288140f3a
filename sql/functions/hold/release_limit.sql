-- release_limit: puts as many parked jobs of a limit in line as it has room for, the most urgent and oldest first.
--
-- The caller holds the lock of errand.lock_limits. Answers how many slots are left after that; null = no limit.
create or replace function errand.release_limit(limit_key text) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    most int := errand.limit_of(release_limit.limit_key);
    room int;
    waiting bigint;
begin
    delete from errand.limit_slot as slot
    where slot.limit_key = release_limit.limit_key and not errand.slot_is_taken(slot);
    -- Without a limit all go, in handfuls: the next call takes the next.
    room := coalesce(
        most - (select count(*) from errand.limit_slot as slot where slot.limit_key = release_limit.limit_key), 1000);
    if room <= 0 then
        return 0;
    end if;
    for waiting in
        select id
        from errand.job
        where parked_for = 'limit:' || release_limit.limit_key
            and not exists (select from errand.queue where name = job.queue and paused_at is not null)
        order by priority, run_at, id
        limit room
        for update of job skip locked
    loop
        with released as (
            update errand.job
            set state = 'available', parked_for = null
            where id = waiting
            returning id, line
        )
        insert into errand.limit_slot (limit_key, job_id, line, admitted_at)
        select release_limit.limit_key, id, line, clock_timestamp() from released
        on conflict on constraint limit_slot_pkey do update set line = excluded.line, admitted_at = excluded.admitted_at;
        room := room - 1;
    end loop;
    if waiting is not null then
        perform errand.wake();
    end if;
    return case when most is not null then room end;
end
$$;
comment on function errand.release_limit(text) is
    'Puts parked jobs of a limit in line, as many as it has room for; answers how many more it has';
