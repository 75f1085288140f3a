-- erase: removes a person's data from all installed apps and from the queue, rows and objects, in one transaction.
--
--   select app, rows from people.erase('user-17', reason => 'request 4711');
--
-- Returns the receipt: the number of removed or anonymised rows of each app; errand stands for jobs and actions of the
-- queue. people.erasure_status keeps it, without the person. A user's pair ends, and the partner's devices are told.
-- Objects leave the store within seconds of the commit, or when the store is back: media.removal_status lists them, by
-- keys, until the store confirms.
--
-- Jobs whose subject is the person are cancelled, and their payloads, errors and results are blanked: see
-- errand_internal.erase_subject. Rows of apps of your own go if the app has a function erase_person(text). The call is
-- idempotent. Raises ER422 without a user, and for a reason over 1,000 characters or with the user's id; ER409 while a
-- job of the person is on its way to another cell; above READ COMMITTED, 40001 if rows of the person have changed since
-- the transaction's snapshot: retry the transaction.
-- errand: for enqueuer, ops
create or replace function people.erase(user_id text, reason text default null) returns table (app text, rows bigint)
language plpgsql security definer set search_path = pg_catalog, people, pg_temp as $$
#variable_conflict use_column
declare
    apps constant text[] := array(select errand_internal.apps_with('erase_person(text)'));
    counts jsonb := '{}';
    in_all bigint := 0;
begin
    perform errand_internal.check_user('erase', $1);
    if length($2) > 1000 or strpos($2, $1) > 0 then
        raise exception 'erase: reason: expected up to 1000 characters without the user''s id, got %',
            case when length($2) > 1000 then length($2)::text else 'one with it' end
            using errcode = 'ER422', hint = 'The reason stays on the receipt.';
    end if;
    -- Twice, since an app may write of the person when another one removes rows: that a pair has ended, for example.
    foreach app in array apps || apps loop
        execute format('select %I.erase_person($1)', app) into rows using $1;
        counts := counts || jsonb_build_object(app, coalesce(rows, 0) + coalesce((counts ->> app)::bigint, 0));
    end loop;
    foreach app in array apps loop
        rows := counts ->> app;
        in_all := in_all + rows;
        return next;
    end loop;
    -- Last, because jobs that the apps have cancelled are in the history only now.
    app := 'errand';
    rows := errand_internal.erase_subject($1, 'a person was erased');
    counts := counts || jsonb_build_object(app, rows);
    in_all := in_all + rows;
    insert into people.erasure (rows_in_all, rows_by_app, reason) values (in_all, counts, $2);
    return next;
end
$$;
