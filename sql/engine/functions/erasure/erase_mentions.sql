-- erase_mentions: removes a person from the queue. For functions of apps; no role may call it.
--
-- Jobs that are about the person, as errand.names says, are cancelled, or discarded if they have failed. Their payload,
-- keys, tags, progress, errors and result are blanked. So are all other errors, results, job logs and reasons that
-- mention the user's id, and arguments and reasons in errand.audit. Returns the number of changed rows. Reads the whole
-- history: a million jobs take seconds.
--
-- Jobs that name nobody, but ids of rows that are gone, stay as they are.
-- errand: after mentions, names, without_errors
create or replace function errand.erase_mentions(user_id text, reason text) returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    word constant text := $1;
    -- As it is within JSON.
    quoted constant text := substr(to_json($1)::text, 2, length(to_json($1)::text) - 2);
    ids bigint[];
    found_jobs bigint[];
    changed bigint := 0;
    part bigint;
begin
    ids := array(
        select id
        from errand.job as held
        left join errand.payload as large on large.day = payload_day and large.job_id = id
        where errand.names(word, coalesce(held.payload, large.payload), tags, unique_key, limit_key));
    if ids <> '{}' then
        perform errand.cancel(ids, $2);
    end if;
    ids := array(select id from errand.failed where errand.names(word, payload, tags, unique_key, limit_key));
    if ids <> '{}' then
        perform errand.discard(ids, $2);
    end if;
    -- A cheap test first: it is all that most rows need.
    select array_agg(id), array_agg(id) filter (
        where errand.names(word, coalesce(held.payload, large.payload), tags, unique_key, limit_key))
    into found_jobs, ids
    from errand.history as held
    left join errand.payload as large on large.day = payload_day and large.job_id = id
    cross join lateral concat(
        held.payload, large.payload, tags, unique_key, limit_key, attempts, output, reason) as texts
    where strpos(texts, word) > 0 or strpos(texts, quoted) > 0;
    update errand.payload as large set payload = '{}'
    from errand.history as held
    where held.id = any (ids) and large.day = held.payload_day and large.job_id = held.id;
    update errand.history
    set payload = case when payload is not null then '{}'::jsonb end, attempts = errand.without_errors(attempts),
        output = null, reason = case when reason is not null then 'erased' end, unique_key = null, tags = null,
        limit_key = null
    where id = any (ids);
    get diagnostics part = row_count;
    changed := changed + part;
    delete from errand.progress where job_id = any (ids);

    update errand.history
    set attempts = case
            when errand.mentions(attempts::text, word) then errand.without_errors(attempts) else attempts end,
        output = case when not errand.mentions(output::text, word) then output end,
        reason = case when errand.mentions(reason, word) then 'erased' else reason end
    where id = any (found_jobs)
        and (errand.mentions(attempts::text, word) or errand.mentions(output::text, word)
            or errand.mentions(reason, word));
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.job set attempts = errand.without_errors(attempts)
    where attempts is not null and errand.mentions(attempts::text, word);
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.failed
    set attempts = errand.without_errors(attempts), error = 'erased', fingerprint = 'erased'
    where errand.mentions(error, word) or errand.mentions(attempts::text, word);
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.past_failure set error = 'erased', fingerprint = 'erased' where errand.mentions(error, word);
    get diagnostics part = row_count;
    changed := changed + part;
    delete from errand.progress
    where errand.mentions(message, word) or errand.mentions(output::text, word) or errand.mentions(log::text, word);
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.action
    set target = '{}', reason = case when reason is not null then 'erased' end
    where errand.mentions(target::text, word) or errand.mentions(reason, word);
    get diagnostics part = row_count;
    return changed + part;
end
$$;
comment on function errand.erase_mentions(text, text) is
    'Cancels the jobs of a person, and blanks what mentions the person; returns the number of changed rows. For apps';
