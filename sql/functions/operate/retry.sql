-- retry: puts failed and cancelled jobs back in line, with all their attempts to spend again and their record kept.
--
--   select * from errand.retry('{4711}', reason => 'the bucket is back');
--   select * from errand.retry(array(select id from errand.failed where kind = 'image_compression'));
--
-- A scheduled job is brought forward to run_at. Returns a row for each id: its state before and now; nulls where there is
-- no such job. Jobs that are in line, run or succeeded stay as they are.
-- A not_after is not kept: who retries a job wants it to run now. Raises ER409 where another unfinished job has
-- its unique_key now.
create or replace function errand.retry(ids bigint[], run_at timestamptz default now(), reason text default null)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    old record;
    due boolean := coalesce(retry.run_at, now()) <= now();
    target text := case when due then 'available' else 'scheduled' end;
begin
    perform pg_current_xact_id();
    for job_id in select distinct id from unnest(ids) as id order by id loop
        was := errand.state_of(job_id);
        now := was;
        if was = 'scheduled' then
            update errand.job
            set state = target, run_at = coalesce(retry.run_at, now())
            where id = job_id and state = 'scheduled';
            now := target;
        elsif was in ('failed', 'cancelled') then
            with failed as (
                delete from errand.failed where id = job_id returning *
            ),
            cancelled as (
                delete from errand.history where id = job_id and state = 'cancelled' returning *
            )
            select * into old
            from (
                select created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, limit_key, guard, tags,
                    traceparent
                from failed
                union all
                select created_at, priority, max_attempts, queue, kind, unique_key, payload, attempts, limit_key, guard,
                    tags, traceparent
                from cancelled
            ) as either
            limit 1;
            if found then
                insert into errand.job (
                    id, queue, kind, payload, created_at, run_at, state, line, priority, max_attempts, unique_key, attempts,
                    limit_key, guard, tags, traceparent)
                values (
                    job_id, old.queue, old.kind, old.payload, old.created_at, coalesce(retry.run_at, now()), target,
                    case when due then nextval('errand.job_line') end, old.priority, old.max_attempts, old.unique_key,
                    old.attempts, old.limit_key, old.guard, old.tags, old.traceparent);
                now := target;
            end if;
        end if;
        return next;
    end loop;
exception
    when unique_violation then
        raise exception 'retry: job %: another unfinished job has its unique_key', job_id
            using errcode = 'ER409', hint = 'Cancel that job first: it holds the key in errand.job_status.';
end
$$;
comment on function errand.retry(bigint[], timestamptz, text) is
    'Puts failed and cancelled jobs back in line with a fresh budget. Example: select * from errand.retry(''{4711}'')';
