-- insert_job: the insert of errand.enqueue for a job with a key, a time, an option or a limit, or with a large payload.
-- given_id is an id that the caller has drawn for it.
--
-- errand.enqueue has checked what errand_internal.check_job checks. Returns and raises as errand.enqueue does.
create or replace function errand_internal.insert_job(
    kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
    not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], subject text, options jsonb,
    owner text, kind_defaults jsonb, token text default null, after bigint[] default null,
    if_parent_fails text default 'wait', given_id bigint default null, rate_key text default null,
    unique_for interval default null, unique_while text default null, no_later_than interval default null,
    order_key text default null, if_head_fails text default null, batch bigint default null, out job_id bigint,
    out inserted boolean, out state text
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    defaults errand.kind;
    wanted errand.job;
    flow jsonb;
    outcome text;
    ordering jsonb;
    joins boolean := false;
    is_large constant boolean := pg_column_size(payload) > 2000;
    -- Before the position is drawn: see errand_internal.requeue.
    transaction constant xid8 := pg_current_xact_id();
begin
    if insert_job.run_at is not null then
        perform errand_internal.check_time(insert_job.run_at);
    end if;
    if on_conflict is distinct from 'keep'
        or num_nonnulls(
            not_after, insert_job.limit_key, insert_job.guard, tags, insert_job.subject, insert_job.options,
            insert_job.rate_key) > 0
    then
        perform errand_internal.check_options(
            insert_job.run_at, not_after, insert_job.unique_key, on_conflict, insert_job.limit_key, insert_job.guard,
            tags, insert_job.subject, insert_job.options, rate_key => insert_job.rate_key);
    end if;
    if after is not null or if_parent_fails is distinct from 'wait' then
        flow := errand_internal.check_parents('enqueue', after, if_parent_fails);
    end if;
    if num_nonnulls(unique_for, unique_while, no_later_than) > 0 or on_conflict = 'merge' then
        wanted.waiting_key := errand_internal.check_uniqueness(
            insert_job.unique_key, on_conflict, unique_for, unique_while, no_later_than);
    end if;
    if on_conflict = 'supersede' or unique_for is not null then
        given_id := coalesce(given_id, nextval('errand.job_id_seq'));
        wanted.id := given_id;
    end if;
    defaults := errand_internal.kind_defaults(insert_job.kind, insert_job.kind_defaults);
    if defaults.untaken_since is not null then
        perform errand_internal.tell_untaken(insert_job.kind, defaults.untaken_since);
    end if;
    wanted.queue := coalesce(insert_job.queue, defaults.queue, 'default');
    wanted.kind := insert_job.kind;
    wanted.run_at := least(coalesce(insert_job.run_at, now()), now() + no_later_than);
    wanted.state := case when wanted.run_at > now() then 'scheduled' else 'available' end;
    wanted.priority := coalesce(insert_job.priority, defaults.priority, 2);
    wanted.max_attempts := coalesce(insert_job.max_attempts, defaults.max_attempts, 10);
    wanted.unique_key := insert_job.unique_key;
    wanted.not_after := nullif(insert_job.not_after, 'infinity');
    wanted.limit_key := coalesce(insert_job.limit_key, defaults.limit_key);
    wanted.rate_key := coalesce(insert_job.rate_key, defaults.rate_key);
    wanted.guard := insert_job.guard;
    wanted.tags := nullif(insert_job.tags[:], '{}');
    wanted.subject := insert_job.subject;
    if insert_job.order_key is not null or insert_job.if_head_fails is not null or defaults.order_key is not null then
        ordering := errand_internal.order_options(
            'enqueue', insert_job.order_key, insert_job.if_head_fails, defaults.order_key, defaults.if_head_fails);
    end if;
    wanted.options := errand_internal.stored_options(insert_job.options, owner, token, ordering, insert_job.batch);
    if flow is not null then
        wanted.options := coalesce(wanted.options, '{}') || flow;
        wanted.state := 'parked';
        wanted.parked_for := 'job:' || (flow #>> '{after,-1}');
    elsif ordering is not null then
        -- Its limit is asked once it comes next.
        if wanted.state = 'available' then
            -- Another job may have its unique key, and it joins only once it is inserted.
            joins := wanted.unique_key is not null;
            if not joins then
                given_id := coalesce(given_id, nextval('errand.job_id_seq'));
            end if;
            if joins or not errand_internal.may_begin(given_id, ordering ->> 'order_key') then
                wanted.state := 'parked';
                wanted.parked_for := 'order:' || (ordering ->> 'order_key');
            end if;
        end if;
    elsif wanted.limit_key is not null and wanted.state = 'available'
        and errand_internal.limit_is_full(wanted.limit_key)
    then
        wanted.state := 'parked';
        wanted.parked_for := 'limit:' || wanted.limit_key;
    end if;
    loop
        if unique_for is not null then
            job_id := errand_internal.take_period(wanted.unique_key, given_id, unique_for, wanted.subject);
            if job_id is not null then
                wanted.payload := insert_job.payload;
                select * into job_id, state, outcome
                from errand_internal.resolve_period(wanted, on_conflict, job_id);
                inserted := false;
                exit when job_id is not null;
                continue;
            end if;
        end if;
        insert into errand.job (
            id, queue, kind, payload, run_at, state, queue_position, priority, max_attempts, unique_key, not_after,
            limit_key, rate_key, guard, tags, subject, options, waiting_key, parked_for)
        values (
            coalesce(given_id, nextval('errand.job_id_seq')), wanted.queue, wanted.kind,
            case when not is_large then insert_job.payload end, wanted.run_at, wanted.state,
            case when wanted.state = 'available' then nextval('errand.job_position') end, wanted.priority,
            wanted.max_attempts, wanted.unique_key, wanted.not_after, wanted.limit_key, wanted.rate_key, wanted.guard,
            wanted.tags, wanted.subject, wanted.options, wanted.waiting_key, wanted.parked_for)
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, true, job.state into job_id, inserted, state;
        if found then
            if is_large then
                perform errand_internal.store_payloads(array[job_id], array[insert_job.payload]);
            end if;
        else
            wanted.payload := insert_job.payload;
            select * into job_id, state, outcome
            from errand_internal.resolve_conflict(wanted, on_conflict, no_later_than);
            inserted := false;
            if unique_for is not null then
                perform errand_internal.give_period(wanted.unique_key, given_id, job_id, outcome);
            end if;
        end if;
        -- Else the key has become free.
        exit when job_id is not null;
    end loop;
    if not inserted then
        insert into errand.refused_enqueue (kind, reason, enqueues) values (wanted.kind, outcome, 1);
    elsif insert_job.batch is not null then
        perform errand_internal.join_batch(insert_job.batch, array[job_id]);
    end if;
    if flow is not null and (inserted or outcome = 'replaced') then
        -- A job waits for older ones only, so no two can wait for each other.
        if (flow #>> '{after,-1}')::bigint >= job_id then
            raise exception 'enqueue: after: expected jobs that are older than job %, got job %', job_id,
                flow #>> '{after,-1}'
                using errcode = 'ER409', hint = 'The job with its unique key was there before.';
        end if;
        perform errand_internal.begin_wait(array[job_id]);
        state := errand_internal.state_of(job_id);
    end if;
    if joins and (inserted or outcome = 'replaced') then
        perform errand_internal.begin_order(array[job_id]);
        state := errand_internal.state_of(job_id);
    end if;
    perform errand_internal.wake();
end
$$;
