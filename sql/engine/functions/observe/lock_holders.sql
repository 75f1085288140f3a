-- lock_holders: returns the sessions whose open transaction has written to Errand's tables, or locked their rows or a
-- maintenance task, for longer than the given time; the longest first. Workers skip what such a session has locked, and
-- wait for none of it.
create or replace function errand_internal.lock_holders(longer_than interval)
returns table (pid int, who text, since timestamptz, objects text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select session.pid, coalesce(session.usename::text, '?'), session.xact_start,
        string_agg(distinct class.relname, ' and ')
    from pg_locks as existing
    join pg_class as class on class.oid = existing.relation and class.relnamespace = 'errand'::regnamespace
    join pg_stat_activity as session on session.pid = existing.pid
    where existing.locktype = 'relation' and existing.granted and existing.mode <> 'AccessShareLock'
        and class.relkind in ('r', 'p')
        and existing.database = (select oid from pg_database where datname = current_database())
        and session.pid <> pg_backend_pid() and session.xact_start < now() - longer_than
        and session.backend_type <> 'autovacuum worker'
    group by session.pid, session.usename, session.xact_start
    order by session.xact_start
$$;
