-- wait_again: for errand_internal.undo_jobs: has jobs that are back in errand.job wait for what they waited for before:
-- other jobs, a signal, a circuit that is open, a limit without room. Their unique keys are theirs for as long as
-- before. was has their values from before; what has come meanwhile, they wait for no more.
create or replace function errand_internal.wait_again(ids bigint[], was jsonb[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    chosen bigint[];
    back bigint[];
    limits text[];
    row_ids tid[];
    circuits text[];
begin
    insert into errand.unique_period (unique_key, job_id, until, subject)
    select job.unique_key, job.id, (asked.was ->> 'unique_until')::timestamptz, job.subject
    from unnest(wait_again.ids, wait_again.was) as asked(id, was)
    join errand.job on job.id = asked.id
    where asked.was ? 'unique_until' and job.unique_key is not null
    on conflict do nothing;
    perform errand_internal.regain_keys(wait_again.ids);
    chosen := array(
        select asked.id
        from unnest(wait_again.ids, wait_again.was) as asked(id, was)
        join errand.job on job.id = asked.id
        where starts_with(asked.was ->> 'parked_for', 'job:')
            and job.parked_for is distinct from asked.was ->> 'parked_for');
    if chosen <> '{}' then
        -- First the lock, then the count: see errand_internal.stop_flows.
        lock table errand.flow_check in row exclusive mode;
        perform nextval('errand.flows_begun');
        -- For the same one as before, if it hasn't ended.
        with again as (
            update errand.job
            set state = 'parked', queue_position = null, parked_for = asked.was ->> 'parked_for'
            from unnest(wait_again.ids, wait_again.was) as asked(id, was)
            join errand.job as parent on parent.id = case
                when starts_with(asked.was ->> 'parked_for', 'job:') then substr(asked.was ->> 'parked_for', 5)::bigint
            end
            where job.id = asked.id and asked.id = any (chosen)
            returning job.id
        ),
        checked as (
            insert into errand.flow_check (child_id) select id from again
        )
        select coalesce(array_agg(id), '{}') into back from again;
        perform errand_internal.begin_wait(array(select id from unnest(chosen) as id where id <> all (back)));
    end if;
    perform errand_internal.begin_order(wait_again.ids);
    with waits as (
        insert into errand.signal_wait (job_id, until, name, role)
        select old.job_id, old.until, old.name, old.role
        from unnest(wait_again.was) as one(was)
        cross join lateral jsonb_populate_record(null::errand.signal_wait, one.was -> 'signal_wait') as old
        where one.was ? 'signal_wait'
        on conflict on constraint signal_wait_pkey do update set until = excluded.until
        returning job_id, name
    ),
    parked as (
        update errand.job
        set state = 'parked', queue_position = null, parked_for = 'signal:' || waits.name
        from waits
        where job.id = waits.job_id
        returning job.id
    )
    -- It may have come, or come in this moment.
    insert into errand.signal_check (job_id) select id from parked;
    select array_agg(job.ctid), array_agg(asked.was ->> 'parked_for') into row_ids, circuits
    from unnest(wait_again.ids, wait_again.was) as asked(id, was)
    join errand.job on job.id = asked.id and job.state = 'available'
    join errand.circuit on asked.was ->> 'parked_for' = 'circuit:' || circuit.name and circuit.opened_at is not null;
    if row_ids is not null then
        perform errand_internal.park(row_ids, circuits);
    end if;
    select array_agg(job.id), array_agg(distinct job.limit_key) into chosen, limits
    from unnest(wait_again.ids, wait_again.was) as asked(id, was)
    join errand.job on job.id = asked.id and job.state = 'available' and job.limit_key is not null
    where starts_with(asked.was ->> 'parked_for', 'limit:');
    if chosen is not null then
        perform errand_internal.park_beyond_limits(chosen, limits);
    end if;
    perform errand_internal.wake();
end
$$;
