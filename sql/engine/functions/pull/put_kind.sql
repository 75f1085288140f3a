-- put_kind: stores what a kind of job needs that workers pull: the defaults of errand.enqueue for it, and the delays of
-- its retries. A program in Swift does that by itself for its own kinds.
--
--   select errand.put_kind('send_mail', queue => 'mail', max_attempts => 5, retry_delays => '{10 s, 1 min, 10 min}');
--
-- Null stays as it is, at first default, 10 and 2, and delays of up to 2 s, doubled with each attempt, up to 1 h. The
-- delay after a failed attempt is drawn from 0 to its element of retry_delays, and the last one serves for all later
-- attempts: so jobs that fail together don't come back together.
--
-- on_failure is a kind: each failure of a job enqueues one of it, in the transaction that records the failure. Its
-- payload is {"job_id", "kind", "queue", "attempt", "error", "payload"} of the job that has failed. A failure of that
-- job enqueues none. An empty text ends it.
--
-- With an order_key, jobs of the kind run one after the other, unless an enqueue names another key: errand.enqueue.
-- if_head_fails is block or go_on, for those with an order key. An empty text ends either. Jobs that were enqueued
-- before stay as they are.
--
-- Raises ER422 for a value out of bounds, and ER409 for a kind of another login.
-- errand: for worker
-- errand: topic pull
create or replace function errand.put_kind(
    kind text, queue text default null, max_attempts int default null, priority int default null,
    retry_delays interval[] default null, on_failure text default null,
    order_key text default null, if_head_fails text default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    if put_kind.retry_delays is not null
        and (
            cardinality(put_kind.retry_delays) between 1 and 1000
            and interval '0' <= all (put_kind.retry_delays)
            and interval '3660 days' >= all (put_kind.retry_delays)) is not true
    then
        raise exception 'put_kind: retry_delays: expected 1 to 1000 intervals up to 10 years, got %',
            left(put_kind.retry_delays::text, 120) using errcode = 'ER422';
    end if;
    if put_kind.on_failure <> '' then
        perform errand_internal.check_job(put_kind.on_failure, '{}', null, null, null, null, 'put_kind: on_failure');
    end if;
    perform errand_internal.order_options(
        'put_kind', coalesce(nullif(put_kind.order_key, ''), 'any'), nullif(put_kind.if_head_fails, ''), null, null);
    perform errand_internal.store_kind(
        put_kind.kind, put_kind.queue, put_kind.max_attempts, put_kind.priority, session_user, 'put_kind');
    update errand.kind
    set retry_delays = put_kind.retry_delays, retry_jitter = 1
    where name = put_kind.kind and kind.retry_delays is distinct from put_kind.retry_delays
        and put_kind.retry_delays is not null;
    update errand.kind
    set on_failure = nullif(put_kind.on_failure, '')
    where name = put_kind.kind and kind.on_failure is distinct from nullif(put_kind.on_failure, '')
        and put_kind.on_failure is not null;
    update errand.kind
    set order_key = nullif(coalesce(put_kind.order_key, kind.order_key), ''),
        if_head_fails = nullif(coalesce(put_kind.if_head_fails, kind.if_head_fails), '')
    where name = put_kind.kind and num_nonnulls(put_kind.order_key, put_kind.if_head_fails) > 0
        and (kind.order_key, kind.if_head_fails) is distinct from (
            nullif(coalesce(put_kind.order_key, kind.order_key), ''),
            nullif(coalesce(put_kind.if_head_fails, kind.if_head_fails), ''));
end
$$;
