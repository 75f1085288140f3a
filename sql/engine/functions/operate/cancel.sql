-- cancel: cancels unfinished jobs. A running job is told to stop within a second; its late completion changes nothing.
--
--   select * from errand.cancel('{4711, 4712}', reason => 'wrong customer');
--
-- Returns a row for each id with its state before and now, nulls for an unknown id. Ended jobs stay as they are. Raises
-- ER422 without a reason.
-- errand: for ops
-- errand: topic cancel
create or replace function errand.cancel(ids bigint[], reason text)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.job;
    locked bigint[];
    cancelled bigint[] := '{}';
    followed bigint[] := '{}';
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    perform errand_internal.check_reason('cancel', cancel.reason);
    -- In the order in which all sessions lock keys and jobs. One retried meanwhile would be locked out of order.
    locked := array(
        select id from errand.job where id = any (ids) order by coalesce(unique_key, waiting_key), id for update);
    perform errand_internal.note_jobs(action_id, locked, 'job', 'history');
    -- Those behind them come next, and none of these.
    delete from errand.order_job as joined
    using errand.job
    where job.id = any (locked) and joined.order_key = job.options ->> 'order_key' and joined.job_id = job.id;
    for job_id in select distinct id from unnest(ids) as id where id is not null order by id loop
        select * into existing from errand.job where id = job_id and id = any (locked);
        if found then
            was := existing.state;
            now := 'cancelled';
            cancelled := cancelled || job_id;
            if existing.options ? 'owner' then
                followed := followed || job_id;
            end if;
            perform errand_internal.move_to_cancelled(existing, reason);
        elsif job_id = any (locked) then
            -- It waited for another of these jobs, and was cancelled with it.
            was := 'parked';
            now := 'cancelled';
            cancelled := cancelled || job_id;
        else
            was := errand_internal.state_of(job_id);
            now := was;
        end if;
        return next;
    end loop;
    if followed <> '{}' then
        perform errand_internal.tell_ended(followed, array_fill('cancelled'::text, array[cardinality(followed)]));
    end if;
    if cancelled <> '{}' then
        perform errand_internal.record_action(
            'cancel', jsonb_build_object('ids', cancelled[1:100]), cancel.reason, cancelled,
            action_id);
    end if;
end
$$;
