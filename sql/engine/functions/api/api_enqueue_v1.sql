-- api_enqueue_v1: enqueues a job for the holder of a token, which the HTTP API has got by POST /v1/jobs.
--
-- hash is the token's SHA-256: without it, a login has no token. request is the body: {"kind", "payload", "queue",
-- "run_at" or "delay_s", "priority", "max_attempts", "not_after", "tags", "subject"}. The job belongs to the login and
-- to the token. key is the Idempotency-Key: the unique key is TOKEN/KEY, and a job that has it is returned, also one
-- that has ended while it is on record.
--
-- Raises ER401 for an unknown token, ER403 for a kind or a queue that is not the token's, ER409 for a key that a job of
-- others has, ER422 for a key that the token has used for another kind or payload, and what errand.enqueue raises.
-- errand: for enqueuer
create or replace function errand_internal.api_enqueue_v1(
    hash bytea, request json, key text default null, traceparent text default null, out job_id bigint,
    out inserted boolean, out state text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    token constant errand.api_token := errand_internal.token_of(hash);
    twice constant text := (
        select name from json_object_keys(request) as name group by name having count(*) > 1 limit 1);
    fields constant jsonb := request;
    kind constant text := fields ->> 'kind';
    payload constant jsonb := coalesce(fields -> 'payload', '{}');
    -- Named in the insert: the kind's own may change meanwhile.
    queue constant text := coalesce(
        fields ->> 'queue', (select defaults.queue from errand.kind as defaults where defaults.name = kind), 'default');
    unique_key constant text := token.name || '/' || key;
    delay constant double precision := fields ->> 'delay_s';
    existing record;
begin
    if twice is not null then
        raise exception 'enqueue: expected each field once, got % twice', quote_literal(left(twice, 120))
            using errcode = 'ER422';
    elsif not kind = any (token.kinds) then
        raise exception 'enqueue: kind: expected one of the token''s, got %', quote_literal(left(kind, 120))
            using errcode = 'ER403', hint = 'An operator sets them: errand token put.';
    elsif not queue = any (token.queues) then
        raise exception 'enqueue: queue: expected one of the token''s, got %', quote_literal(left(queue, 120))
            using errcode = 'ER403', hint = 'An operator sets them: errand token put.';
    elsif delay is not null and fields ? 'run_at' then
        raise exception 'enqueue: expected run_at or delay_s, got both' using errcode = 'ER422';
    end if;
    perform errand_internal.check_job(
        kind, payload, queue, (fields ->> 'priority')::numeric::int, (fields ->> 'max_attempts')::numeric::int,
        unique_key);
    if key is not null then
        -- A second call with the key waits for the end of the first one. Its job may have ended by then.
        perform pg_advisory_xact_lock(hashtext('errand.api'), hashtext(unique_key));
        select * into existing from errand_internal.job_of_key(unique_key);
        if existing.id is not null then
            job_id := existing.id;
            inserted := false;
            state := existing.state;
            if existing.owner is distinct from session_user or existing.token is distinct from token.name then
                raise exception 'enqueue: Idempotency-Key: expected one that no job of others has, got another'
                    using errcode = 'ER409';
            elsif existing.kind <> kind or existing.payload is distinct from payload then
                raise exception 'enqueue: Idempotency-Key: expected the kind and the payload of its first call, got '
                    'others' using errcode = 'ER422', hint = 'Each job has a key of its own.';
            end if;
            insert into errand.refused_enqueue (kind, reason, enqueues) values (kind, 'repeated', 1);
            return;
        end if;
    end if;
    select *
    into job_id, inserted, state
    from errand_internal.insert_job(
        kind, payload, queue, coalesce((fields ->> 'run_at')::timestamptz, now() + make_interval(secs => delay)),
        (fields ->> 'priority')::numeric::int, (fields ->> 'max_attempts')::numeric::int, unique_key,
        (fields ->> 'not_after')::timestamptz, 'keep', null, null,
        case when fields ? 'tags' then array(select jsonb_array_elements_text(fields -> 'tags')) end,
        fields ->> 'subject', jsonb_build_object('traceparent', traceparent), session_user::text, null, token.name);
    if not inserted then
        raise exception 'enqueue: Idempotency-Key: expected one that no job of others has, got another'
            using errcode = 'ER409';
    end if;
end
$$;
