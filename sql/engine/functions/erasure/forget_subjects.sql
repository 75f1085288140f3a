-- forget_subjects: makes jobs nobody's: those that have one of these unique keys, or had it. For functions of apps; no
-- role may call it.
create or replace function errand.forget_subjects(unique_keys text[]) returns void
-- A plan from when the tables were empty would read all of them forever.
language plpgsql set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    ids bigint[];
begin
    update errand.job set subject = null where unique_key = any ($1) and subject is not null;
    update errand.failed set subject = null where unique_key = any ($1) and subject is not null;
    with forgotten as (
        update errand.history set subject = null
        where unique_key = any ($1) and subject is not null
        returning id
    )
    select array_agg(id) into ids from forgotten;
    update errand.past_failure set subject = null where job_id = any (ids) and subject is not null;
end
$$;
comment on function errand.forget_subjects(text[]) is
    'Makes the jobs with these unique keys, also ended ones, nobody''s. For functions of apps';
