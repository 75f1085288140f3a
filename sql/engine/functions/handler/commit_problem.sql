-- commit_problem: returns what would run at the commit with the rights of the worker that calls a SQL function, and
-- not with those of the function's owner. Null if nothing can.
--
-- A deferred trigger runs at the commit with the rights of the session, before PostgreSQL 18. Any function may defer
-- those that are deferrable, and fill a table that has one, through others. So none may exist whose function isn't
-- security definer. The query of a cursor with hold runs at the commit too.
-- errand: after rights
create or replace function errand_internal.commit_problem() returns text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select format('the cursor %I with hold', name) from pg_cursors where is_holdable
    union all
    (
        select format(
            'the deferrable trigger %I of %s, whose function %s is not security definer', deferred.tgname,
            deferred.tgrelid::regclass, routine.oid::regprocedure)
        from pg_trigger as deferred
        join pg_proc as routine on routine.oid = deferred.tgfoid
        where deferred.tgdeferrable and not deferred.tgisinternal and not routine.prosecdef
            and current_setting('server_version_num')::int < 180000
        limit 1
    )
    union all
    (
        select format('the deferrable exclusion constraint %I of %s', conname, conrelid::regclass)
        from pg_constraint
        where contype = 'x' and condeferrable and current_setting('server_version_num')::int < 180000
        limit 1
    )
    limit 1
$$;
