-- check_known_parents: raises ER404 if one of these ids was never given to a job of this cell, and ER409 if the job was
-- moved to another cell. An id whose job isn't seen, since it was pruned or isn't committed, is known.
create or replace function errand_internal.check_known_parents(context text, parents bigint[]) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    here constant int := errand.cell();
    newest constant bigint := coalesce(pg_sequence_last_value('errand.job_id_seq'), 0);
    missing constant bigint[] := array(
        select id from errand_internal.parent_states(parents) where state is null);
    away record;
begin
    if missing = '{}' then
        return;
    end if;
    select job_id, to_cell into away
    from (
        select job_id, to_cell from errand.moved_job where job_id = any (missing)
        union all
        select job.id, to_cell from errand.outgoing cross join lateral unnest(jobs) as job where job.id = any (missing)
    ) as either
    limit 1;
    if found then
        raise exception '%: after: expected jobs of this cell, got job %, which was moved to cell %', context,
            away.job_id, away.to_cell using errcode = 'ER409', hint = 'Enqueue it there.';
    end if;
    select id into away from unnest(missing) as id where errand.cell_of(id) <> here or id > newest or id <= 0 limit 1;
    if found then
        raise exception '%: after: expected ids of jobs, got %', context, away.id
            using errcode = 'ER404', hint = 'Enqueue first what a job waits for.';
    end if;
end
$$;
