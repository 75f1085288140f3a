-- put_guard: registers a guard: a function that says whether a job is still wanted.
--
--   select errand.put_guard('invite_is_open', 'pairing.invite_is_open');
--   select errand.enqueue('invite_reminder', '{"code": "X7K2QP"}', guard => 'invite_is_open');
--
-- The function takes the payload (jsonb), returns boolean (false and null mean no), and is stable or immutable. It runs
-- with the rights of errand_owner, so make it security definer if it reads the application's tables. The claim calls
-- it, and the completion once more, so it should read by an index or two. A claim spends 250 ms on guards and leaves
-- other guarded jobs in the queue; errand.health() names a guard that is so slow.
--
-- Raises ER404 for an unknown function, 42501 if errand_owner may not use the function's schema, ER422 for a name out
-- of bounds or a function of another kind.
create or replace function errand.put_guard(name text, function text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    found_oid oid;
    routine pg_proc;
    quoted text;
begin
    begin
        found_oid := to_regprocedure(put_guard.function || '(jsonb)');
    exception
        when insufficient_privilege then
            raise exception 'put_guard: function: expected one in a schema that % may use, got %: %',
                current_user, quote_literal(left(put_guard.function, 120)), sqlerrm
                using errcode = '42501',
                    hint = format('Have its owner run: grant usage on schema … to %s', current_user);
        -- The text is no name.
        when others then found_oid := null;
    end;
    if put_guard.name is null or put_guard.name !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception 'put_guard: name: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(put_guard.name, 120)), 'null') using errcode = 'ER422';
    elsif found_oid is null then
        raise exception 'put_guard: function: expected a function with one argument of type jsonb, got %',
            coalesce(quote_literal(left(put_guard.function, 120)), 'null') using errcode = 'ER404';
    end if;
    select * into routine from pg_proc where oid = found_oid;
    if routine.prorettype <> 'boolean'::regtype or routine.proretset or routine.provolatile = 'v'
        or routine.prokind <> 'f' then
        raise exception 'put_guard: function: expected one that is stable or immutable and returns boolean, got %, % %',
            found_oid::regprocedure,
            case routine.provolatile when 'v' then 'volatile' when 's' then 'stable' else 'immutable' end,
            format_type(routine.prorettype, null)
            using errcode = 'ER422', hint = 'A guard only reads: the job''s handler writes.';
    end if;
    select format('%I.%I', nspname, routine.proname) into quoted from pg_namespace where oid = routine.pronamespace;
    insert into errand.guard as existing (name, function)
    values (put_guard.name, quoted)
    on conflict on constraint guard_pkey do update
    set function = excluded.function, registered_at = now(), slow_at = null, slow_ms = null;
end
$$;
