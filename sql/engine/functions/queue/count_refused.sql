-- count_refused: counts the elements of an errand.enqueue_many that inserted no job, since an unfinished one has their
-- key. ids has null for these.
create or replace function errand_internal.count_refused(jobs jsonb, ids bigint[]) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    insert into errand.refused_enqueue (kind, reason, enqueues)
    select item.value ->> 'kind', 'unique', count(*)
    from jsonb_array_elements(jobs) with ordinality as item
    join unnest(ids) with ordinality as one(id, ordinality) using (ordinality)
    where one.id is null
    group by item.value ->> 'kind'
$$;
