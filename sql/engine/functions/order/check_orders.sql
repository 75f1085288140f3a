-- check_orders: for maintenance: releases jobs that are the next ones of their order keys and were not told.
--
-- An end and a wait that commit side by side don't see each other. So what parks a job for its order key notes the key
-- (errand.order_check), of which this reads up to 1,000. A key whose slot another session has locked is read again,
-- once that transaction has ended. Beside them, 500 of all keys are read in each call, behind those of the last call
-- (memory), so that nothing waits for ever.
--
-- Returns where the next call goes on, and whether there is more to do at once.
create or replace function errand_internal.check_orders(
    memory text default null, out next_memory text, out is_more boolean
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 1000;
    slice constant int := 500;
    seen int;
    keys text[];
    locked text[];
    ended text[];
    again text[];
    key text := coalesce(memory, '');
    wrong text[] := '{}';
begin
    next_memory := memory;
    is_more := false;
    if not errand_internal.begin_check() then
        return;
    end if;
    for nth in 1..slice loop
        select joined.order_key into key
        from errand.order_job as joined
        where joined.order_key > key
        order by joined.order_key
        limit 1;
        exit when key is null;
        if errand_internal.order_is_wrong(key) then
            wrong := wrong || key;
        end if;
    end loop;
    next_memory := key;
    with gone as (
        delete from errand.order_check
        where id = any (array(select id from errand.order_check order by id limit most for update skip locked))
        returning order_key
    )
    select count(*), array_agg(distinct order_key) into seen, keys from gone;
    keys := array(select distinct one from unnest(keys || wrong) as one);
    if keys = '{}' then
        return;
    end if;
    is_more := seen = most;
    locked := array(
        select slot.order_key
        from errand.order_slot as slot
        where slot.order_key = any (keys)
        order by slot.order_key
        for update skip locked);
    -- Those that another session has locked: it may pass the slot on.
    again := array(
        select slot.order_key
        from errand.order_slot as slot
        where slot.order_key = any (keys) and slot.order_key <> all (locked));
    ended := array(
        select slot.order_key
        from errand.order_slot as slot
        where slot.order_key = any (locked)
            and not (
                exists (
                    select
                    from errand.order_job as joined
                    where joined.order_key = slot.order_key and joined.job_id = slot.job_id)
                and (
                    exists (select from errand.job where job.id = slot.job_id)
                    or exists (
                        select
                        from errand.failed
                        where failed.id = slot.job_id and options ->> 'if_head_fails' = 'block'))));
    update errand.order_slot as slot
    set blocked_at = now()
    where slot.order_key = any (locked) and slot.order_key <> all (ended) and slot.blocked_at is null
        and not exists (select from errand.job where job.id = slot.job_id);
    if ended <> '{}' then
        perform errand_internal.pass_order_slots(ended);
    end if;
    perform errand_internal.release_heads(array(select one from unnest(locked) as one where one <> all (ended)));
    keys := array(
        select one
        from unnest(keys) as one
        where one <> all (locked) and one <> all (again)
            and exists (select from errand.order_job as joined where joined.order_key = one));
    if keys <> '{}' and errand_internal.lock_limits() then
        perform errand_internal.give_order_slots(keys);
    else
        again := again || keys;
    end if;
    insert into errand.order_check (order_key) select * from unnest(again);
end
$$;
