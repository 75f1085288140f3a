-- keep_state: stores the state that a SQL function wants to be called with again; null removes it.
create or replace function errand_internal.keep_state(job errand.job, state jsonb) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    if keep_state.state is null then
        update errand.progress set state = null where job_id = job.id and progress.state is not null;
    else
        insert into errand.progress as existing (job_id, queue_position, attempt, state)
        values (job.id, job.queue_position, job.attempt, keep_state.state)
        on conflict on constraint progress_pkey do update
        set queue_position = excluded.queue_position, attempt = excluded.attempt, updated_at = now(),
            state = excluded.state;
    end if;
end
$$;
