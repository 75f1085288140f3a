-- api_enqueue_v1: enqueues a job for the holder of a token, which the HTTP API has got by POST /v1/jobs.
--
-- hash is the token's SHA-256: without it, a login has no token. request is the body: an object with the arguments of
-- errand.enqueue by name, with delay_s (in place of run_at), unique_for_s and no_later_than_s in seconds. What
-- operators alone decide isn't read: limit_key, guard, kind_defaults. The job belongs to the login and to the token.
--
-- All keys are the token's own: TOKEN/KEY is stored. key is the Idempotency-Key, a unique key: a job that has it is
-- returned, also one that has ended while it is on record. request has a unique_key instead if it says what becomes of
-- a job that has the key.
--
-- Raises ER401 for an unknown token. Raises ER403 for a kind or a queue that is not the token's, and for a key of a
-- rate or an order where the kind has one. Raises ER404 for jobs to wait for and a batch that are not the token's.
-- Raises ER409 for a key that a job of others has, ER422 for a key that the token has used for another kind or payload,
-- and what errand.enqueue raises.
-- errand: for enqueuer
create or replace function errand_internal.api_enqueue_v1(
    hash bytea, request json, key text default null, traceparent text default null, out job_id bigint,
    out inserted boolean, out state text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    token constant errand.api_token := errand_internal.token_of(hash);
    fields constant jsonb := request;
    kind constant text := fields ->> 'kind';
    payload constant jsonb := coalesce(nullif(fields -> 'payload', 'null'), '{}');
    queue constant text := coalesce(
        fields ->> 'queue', (select defaults.queue from errand.kind as defaults where defaults.name = kind), 'default');
    usual constant text[] := '{kind,payload,queue,delay_s,priority,max_attempts,tags,subject}';
    own_key constant text := token.name || '/' || coalesce(key, fields ->> 'unique_key');
    delay constant double precision := fields ->> 'delay_s';
    parents bigint[];
    existing record;
    foreign_key boolean;
begin
    -- The functions are called for what they refuse: each call takes 8 us.
    if exists (select from json_object_keys(request) as name group by name having count(*) > 1) then
        perform errand_internal.check_fields('enqueue', request);
    elsif kind <> all (token.kinds) or queue <> all (token.queues) then
        perform errand_internal.queue_for_token(token, kind, queue);
    end if;
    if fields ?& '{run_at,delay_s}' then
        raise exception 'enqueue: delay_s: expected no run_at beside it, got both' using errcode = 'ER422';
    elsif key is not null and fields ?| '{unique_key,on_conflict,unique_for_s,unique_while,no_later_than_s}' then
        raise exception 'enqueue: %: expected no Idempotency-Key beside it, got both',
            (select min(name) from jsonb_object_keys(fields) as name
                where name in ('unique_key', 'on_conflict', 'unique_for_s', 'unique_while', 'no_later_than_s'))
            using errcode = 'ER422', hint = 'A repeated call with an Idempotency-Key changes nothing.';
    end if;
    perform errand_internal.check_job(
        kind, payload, queue, (fields ->> 'priority')::numeric::int, (fields ->> 'max_attempts')::numeric::int,
        own_key);
    if own_key is not null then
        -- A second call with an Idempotency-Key waits for the end of the first one. Its job may have ended by then.
        if key is not null then
            perform pg_advisory_xact_lock(hashtext('errand.api'), hashtext(own_key));
        end if;
        select * into existing from errand_internal.job_of_key(own_key);
        foreign_key := existing.id is not null
            and (existing.owner is distinct from session_user or existing.token is distinct from token.name);
        if key is not null and existing.id is not null and not foreign_key then
            job_id := existing.id;
            inserted := false;
            state := existing.state;
            if existing.kind <> kind or existing.payload is distinct from payload then
                raise exception 'enqueue: Idempotency-Key: expected the kind and the payload of its first call, got '
                    'others' using errcode = 'ER422', hint = 'Each job has a key of its own.';
            end if;
            insert into errand.refused_enqueue (kind, reason, enqueues) values (kind, 'repeated', 1);
            return;
        end if;
    end if;
    if foreign_key is not true and fields - usual = '{}' then
        -- Without flows, keys and times: 30 us less than the long form.
        select *
        into job_id, inserted, state
        from errand_internal.insert_job(
            kind, payload, queue, now() + make_interval(secs => delay), (fields ->> 'priority')::numeric::int,
            (fields ->> 'max_attempts')::numeric::int, own_key, null, 'keep', null, null,
            case when fields ? 'tags' then array(select jsonb_array_elements_text(fields -> 'tags')) end,
            fields ->> 'subject', jsonb_build_object('traceparent', traceparent), session_user::text, null,
            token.name);
        foreign_key := not inserted;
    elsif foreign_key is not true then
        if fields ?| '{rate_key,order_key,if_head_fails,after,batch}' then
            parents := errand_internal.check_request(token, fields);
        end if;
        select *
        into job_id, inserted, state
        from errand_internal.enqueue_element(
            fields - '{limit_key,guard,kind_defaults,delay_s,unique_for_s,no_later_than_s}'::text[]
                || jsonb_strip_nulls(jsonb_build_object(
                    'queue', queue,
                    'run_at', coalesce(fields -> 'run_at', to_jsonb(now() + make_interval(secs => delay))),
                    -- 1.0 is a whole number in JSON, and none of PostgreSQL's.
                    'priority', (fields ->> 'priority')::numeric::int,
                    'max_attempts', (fields ->> 'max_attempts')::numeric::int,
                    'batch', (fields ->> 'batch')::numeric::bigint, 'unique_key', own_key,
                    'unique_for', (fields ->> 'unique_for_s') || ' s',
                    'no_later_than', (fields ->> 'no_later_than_s') || ' s',
                    'rate_key', token.name || '/' || (fields ->> 'rate_key'),
                    'order_key', token.name || '/' || (fields ->> 'order_key'), 'follow', true,
                    'options', jsonb_build_object('traceparent', traceparent))),
            'enqueue', token => token.name, after => parents,
            if_parent_fails => coalesce(fields ->> 'if_parent_fails', 'wait')) as one;
        -- A job of others came in between. One that is no longer on record had the key for a time.
        foreign_key := not inserted and (
            key is not null or state <> 'ended' and errand_internal.ids_of_token(array[job_id], token.name) = '{}');
    end if;
    if foreign_key then
        raise exception 'enqueue: %: expected one that no job of others has, got another',
            case when key is not null then 'Idempotency-Key' else 'unique_key' end
            using errcode = 'ER409';
    end if;
end
$$;
