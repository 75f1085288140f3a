-- admit_order: for errand_internal.admit: decides which of the jobs that a claim has locked are the next ones of their
-- order keys, and gives those of free keys their slots. is_asked says of each candidate whether it matters.
--
-- Returns an element for each candidate: null = it may run, 'parked' = another one of its key comes first, 'stays' =
-- another session holds the lock under which slots are given. reasons has what it is parked for. may_lock is as in
-- errand_internal.admit.
create or replace function errand_internal.admit_order(
    candidates tid[], is_asked boolean[], inout may_lock boolean, out verdicts text[], out reasons text[]
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    ids bigint[];
    keys text[];
    free text[];
begin
    select
        array_agg(job.id order by nth),
        array_agg(case when near.is_asked then job.options ->> 'order_key' end order by nth)
    into ids, keys
    from unnest(candidates, admit_order.is_asked) with ordinality as near(row_id, is_asked, nth)
    left join errand.job on job.ctid = near.row_id;
    free := array(
        select distinct key
        from unnest(keys) as key
        where key is not null and not exists (select from errand.order_slot as slot where slot.order_key = key));
    if free <> '{}' then
        may_lock := may_lock and errand_internal.lock_limits();
        if may_lock then
            -- They have joined, or the key would never be theirs.
            insert into errand.order_job (order_key, job_id)
            select key, id from unnest(keys, ids) as near(key, id) where key = any (free)
            on conflict do nothing;
            perform errand_internal.give_order_slots(free);
        end if;
    end if;
    verdicts := array(
        select case
            when near.key is null or holder.id = near.id then null when holder.id is null then 'stays' else 'parked'
        end
        from unnest(keys, ids) with ordinality as near(key, id, nth)
        cross join lateral (
            select (select slot.job_id from errand.order_slot as slot where slot.order_key = near.key) as id
        ) as holder
        order by nth);
    reasons := array(select 'order:' || key from unnest(keys) with ordinality as near(key, nth) order by nth);
    -- The holder may end in this moment, unseen.
    insert into errand.order_check (order_key)
    select distinct key from unnest(keys, verdicts) as near(key, verdict) where verdict = 'parked';
end
$$;
