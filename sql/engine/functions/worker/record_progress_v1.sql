-- record_progress_v1: stores the progress and the job log of running attempts.
--
-- reports is an array of {job_id, queue_position, attempt, fraction, message, output, log}. A field that is null stays
-- as it was within the same attempt. An older attempt changes nothing. In place of an output of more than 256 KB as
-- text, its size is stored.
create or replace function errand_internal.record_progress_v1(reports jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    insert into errand.progress as existing (job_id, queue_position, attempt, fraction, message, output, log)
    select
        job_id, queue_position, attempt, fraction, left(message, 1000),
        coalesce(to_jsonb(errand_internal.output_problem(output)), output), log
    from jsonb_to_recordset(reports) as report(
        job_id bigint, queue_position bigint, attempt smallint, fraction real, message text, output jsonb, log text[])
    order by job_id
    on conflict on constraint progress_pkey do update
    set (queue_position, attempt, updated_at, fraction, message, output, log) = (
        select
            excluded.queue_position, excluded.attempt, now(), coalesce(excluded.fraction, same.fraction),
            coalesce(excluded.message, same.message), coalesce(excluded.output, same.output),
            coalesce(excluded.log, existing.log)
        from (select existing.*) as old
        left join (select existing.*) as same on same.queue_position = excluded.queue_position)
    where existing.queue_position <= excluded.queue_position;
end
$$;
