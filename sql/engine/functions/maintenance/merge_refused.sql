-- merge_refused: sums up the enqueues of past minutes that inserted no job, and adds those of more than an hour ago to
-- the totals. Rows that a session has locked are left for the next run.
create or replace function errand_internal.merge_refused() returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    with lately as (
        delete from errand.refused_enqueue
        where ctid = any (array(
            select ctid
            from errand.refused_enqueue
            where not is_merged and refused_at < date_trunc('minute', now())
            for update skip locked))
        returning *
    ),
    merged as (
        insert into errand.refused_enqueue (refused_at, is_merged, kind, reason, enqueues)
        select date_trunc('minute', refused_at), true, kind, reason, sum(enqueues)
        from lately
        group by 1, kind, reason
    ),
    past as (
        delete from errand.refused_enqueue
        where ctid = any (array(
            select ctid
            from errand.refused_enqueue
            where is_merged and refused_at < now() - interval '1 hour'
            for update skip locked))
        returning *
    )
    insert into errand.refused_total as existing (kind, reason, enqueues, last_at)
    select kind, reason, sum(enqueues), max(refused_at)
    from past
    group by kind, reason
    order by kind, reason
    on conflict on constraint refused_total_pkey do update
    set enqueues = existing.enqueues + excluded.enqueues, last_at = greatest(existing.last_at, excluded.last_at)
$$;
