-- erase_subject: removes a user's jobs from the queue: those whose subject is the user. For functions of apps; no role
-- may call it.
--
-- Unfinished ones are cancelled, and failed ones discarded. Of these and of ended ones, the payload, keys, tags,
-- progress, errors, result, reason and subject are blanked, and the reason of operators' actions that changed no other
-- jobs. Who did what and when stays in errand.audit. Other jobs stay as they are, whatever they mention.
--
-- Returns the number of changed rows. Raises ER409 while a job of the user is on its way to another cell.
-- errand: after without_errors
create or replace function errand.erase_subject(subject text, reason text) returns bigint
-- A plan from when the tables were empty would read all of them forever.
language plpgsql set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    ids bigint[];
    erased bigint[] := '{}';
    changed bigint;
    part bigint;
begin
    if exists (select from errand.outgoing cross join lateral unnest(jobs) as job where job.subject = $1) then
        raise exception 'erase: user_id: expected a user whose jobs are in this cell, got one with jobs on their way '
            'to another cell'
            using errcode = 'ER409', hint = 'Let `errand cells move` finish, then call it again, on that cell too.';
    end if;
    loop
        perform errand.cancel(array(select id from errand.job where subject = $1), $2);
        perform errand.discard(array(select id from errand.failed where subject = $1), $2);
        with blanked as (
            update errand.history
            set payload = case when payload is not null then '{}'::jsonb end,
                attempts = errand.without_errors(attempts), output = null,
                reason = case when reason is not null then 'erased' end, unique_key = null, tags = null,
                limit_key = null, subject = null
            where subject = $1
            returning id, payload_day
        ),
        emptied as (
            update errand.payload as large set payload = '{}'
            from blanked
            where large.day = blanked.payload_day and large.job_id = blanked.id
        )
        select array_agg(id) into ids from blanked;
        erased := erased || ids;
        -- Some may have been retried in between.
        exit when not exists (select from errand.job where subject = $1)
            and not exists (select from errand.failed where subject = $1);
    end loop;
    changed := cardinality(erased);
    delete from errand.progress where job_id = any (erased);
    update errand.past_failure set error = 'erased', fingerprint = 'erased', subject = null where subject = $1;
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.action set reason = 'erased'
    where job_ids && erased and job_ids <@ erased and jobs = cardinality(job_ids) and reason <> $2;
    get diagnostics part = row_count;
    return changed + part;
end
$$;
comment on function errand.erase_subject(text, text) is
    'Cancels the jobs of a user, and blanks them; returns the number of changed rows. For functions of apps';
