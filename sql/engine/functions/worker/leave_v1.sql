-- leave_v1: ends a worker's lease. With is_uncertain, jobs that are still claimed under its id are handed back without
-- counting an attempt: the result of their claim was lost, so they never started. Jobs that another session has locked
-- stay as they are, and so do those of a claim that is still running: maintenance rescues them.
--
-- Maintenance locks the rows of workers whose marks it moves. A row that stays locked for a second keeps its lease,
-- which then ends by itself.
create or replace function errand_internal.leave_v1(worker_id bigint, is_uncertain boolean) returns int
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    released int := 0;
    keyless bigint[];
    before constant text := current_setting('lock_timeout');
begin
    begin
        perform set_config('lock_timeout', '1s', true);
        delete from errand.worker where id = leave_v1.worker_id;
        perform set_config('lock_timeout', before, true);
    exception
        when lock_not_available then
            null;
    end;
    -- It has counted its completions, or another id of its process will.
    delete from errand.counted where counted.worker_id = leave_v1.worker_id;
    if is_uncertain then
        with back as (
            update errand.job
            set state = 'available', attempt = attempt - 1, worker_id = null, is_handed_back = true
            where id in (
                select existing.id
                from errand.job as existing
                where existing.id = any (errand_internal.claimed_by(array[leave_v1.worker_id]))
                    and existing.state = 'running' and existing.worker_id = leave_v1.worker_id
                for update skip locked)
            returning id, waiting_key
        )
        select count(*), array_agg(id) filter (where waiting_key is not null) into released, keyless from back;
        if keyless is not null then
            perform errand_internal.regain_keys(keyless);
        end if;
    end if;
    perform errand_internal.drop_claims(array[leave_v1.worker_id]);
    perform errand_internal.lower_wake_flag();
    perform errand_internal.wake();
    return released;
end
$$;
