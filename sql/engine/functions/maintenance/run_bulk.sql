-- run_bulk: makes the next batch of the oldest bulk action. Returns whether there was one.
--
-- A batch reads the next max_jobs jobs by their ids, and changes those that match. Jobs that another session has locked
-- are skipped, and read again in another pass. Does nothing on a copy that nobody has adopted, or if another session
-- makes a batch.
create or replace function errand_internal.run_bulk(max_jobs int default 1000) returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    asked errand.bulk;
    choice errand.job_choice;
    last_id bigint;
    chosen bigint[];
    done bigint[];
    is_end boolean;
begin
    -- Without an action, this call takes no transaction id.
    if not exists (select from errand.bulk where ended_at is null) or not errand_internal.is_home() then
        return false;
    end if;
    select * into asked
    from errand.bulk
    where id = (select min(id) from errand.bulk where ended_at is null) and ended_at is null
    for update skip locked;
    if not found then
        return false;
    end if;
    choice := jsonb_populate_record(null::errand.job_choice, asked.filter);
    if asked.action = 'discard' then
        choice.state := null;           -- all rows of errand.failed are
    end if;
    execute format(
        $find$
        select case when count(*) = $3 then max(id) end, coalesce(array_agg(id) filter (where %s), '{}')
        from (select * from errand.%I where id > $1 and id <= $2 order by id limit $3) as job
        $find$,
        case asked.action
            when 'discard' then errand_internal.job_condition(choice, 'job.error', 'job.fingerprint', 'job.finished_at')
            else errand_internal.job_condition(
                choice, 'job.attempts -> -1 ->> ''error''',
                'errand_internal.fingerprint(job.attempts -> -1 ->> ''error'')',
                'null::timestamptz')
        end,
        case asked.action when 'discard' then 'failed' else 'job' end)
    into last_id, chosen
    using asked.after_id, asked.upto_id, max_jobs;
    if asked.action = 'discard' then
        done := errand_internal.discard_jobs(chosen, format('bulk %s: %s', asked.id, asked.reason), asked.action_id);
    else
        done := coalesce((
            select ids
            from errand_internal.cancel_jobs(
                chosen, choice.state, format('bulk %s: %s', asked.id, asked.reason), asked.action_id)),
            '{}');
        perform errand_internal.parents_ended(done);
    end if;
    asked.skipped := asked.skipped + cardinality(chosen) - cardinality(done);
    is_end := last_id is null and (asked.skipped = 0 or asked.pass = 10);
    update errand.bulk
    set
        changed = asked.changed + cardinality(done),
        changed_at = clock_timestamp(),
        ended_at = case when is_end then clock_timestamp() end,
        after_id = case when is_end then asked.upto_id when last_id is null then asked.from_id else last_id end,
        skipped = case when last_id is null and not is_end then 0 else asked.skipped end,
        pass = case when last_id is null and not is_end then asked.pass + 1 else asked.pass end
    where id = asked.id;
    return true;
end
$$;
