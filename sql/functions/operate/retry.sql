-- retry: puts failed and cancelled jobs back in line, with all their attempts to spend again and their record kept.
--
--   select * from errand.retry('{4711}', reason => 'the bucket is back');
--   select * from errand.retry(array(select id from errand.job_status where state = 'failed' and kind = 'noop' limit 100));
--
-- A scheduled job is brought forward to run_at. Returns a row for each id: its state before and now; nulls where there is
-- no such job. Jobs that are in line, run or succeeded stay as they are. Raises ER409, and changes nothing, where another
-- unfinished job has the unique key of one of them.
create or replace function errand.retry(ids bigint[], run_at timestamptz default now(), reason text default null)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    due timestamptz := coalesce(retry.run_at, now());
    target text := case when due <= now() then 'available' else 'scheduled' end;
    retried bigint[] := '{}';
begin
    for job_id in select distinct id from unnest(ids) as id where id is not null order by id loop
        was := errand.state_of(job_id);
        now := was;
        if was = 'scheduled' then
            perform pg_current_xact_id();
            update errand.job
            set state = target, run_at = due
            where id = job_id and state = 'scheduled';
            if found then
                now := target;
                retried := retried || job_id;
            end if;
        elsif was in ('failed', 'cancelled') then
            begin
                if errand.bring_back(array[job_id], array[due]) <> '{}' then
                    now := target;
                    retried := retried || job_id;
                end if;
            exception
                when unique_violation then
                    raise exception 'retry: job %: expected its unique_key to be free, got another unfinished job with it',
                        job_id
                        using errcode = 'ER409', hint = 'select * from errand.explain(' || job_id || ') names that job.';
            end;
        end if;
        return next;
    end loop;
    if retried <> '{}' then
        perform errand.acted(
            'retry', jsonb_build_object('ids', retried[1:100], 'run_at', due), retry.reason, retried);
        perform errand.wake();
    end if;
end
$$;
comment on function errand.retry(bigint[], timestamptz, text) is
    'Puts failed and cancelled jobs back in line with a fresh budget. Example: select * from errand.retry(''{4711}'')';
