-- set_limit: sets how many jobs with this limit_key run at once, over all workers; null removes the limit.
--
--   select errand.set_limit('tenant/42', 5);
--   select errand.set_limit('tenant/*', 2);   -- each tenant without a limit of its own
--   select errand.set_limit('tenant/42', null, reason => 'they pay for more');
--
-- 0 parks all of them. Running jobs go on. errand.audit has the reason. Raises ER422 for a key or a number out of
-- bounds, and for an empty reason; ER404 for null and a key that has no limit.
-- errand: for ops
-- errand: topic limits
create or replace function errand.set_limit(limit_key text, max_running int, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('limit_key', set_limit.limit_key);
    was constant jsonb := errand_internal.setting('limit', key);
begin
    if set_limit.reason is not null then
        perform errand_internal.check_reason('set_limit', set_limit.reason);
    end if;
    if set_limit.limit_key is null or length(set_limit.limit_key) not between 1 and 500 then
        raise exception 'set_limit: limit_key: expected 1 to 500 characters, got %',
            coalesce(quote_literal(left(set_limit.limit_key, 120)), 'null') using errcode = 'ER422';
    elsif set_limit.max_running not between 0 and 1000000 then
        raise exception 'set_limit: max_running: expected 0 to 1000000, or null for no limit, got %',
            set_limit.max_running
            using errcode = 'ER422';
    elsif set_limit.max_running is null then
        delete from errand.limit as existing where existing.limit_key = set_limit.limit_key;
        if not found then
            perform errand_internal.check_known(
                'set_limit: limit_key', 'one that has a limit', set_limit.limit_key,
                array(select limit_key from errand.limit));
        end if;
    else
        insert into errand.limit (limit_key, max_running)
        values (set_limit.limit_key, set_limit.max_running)
        on conflict on constraint limit_pkey do update set max_running = excluded.max_running, set_at = now();
    end if;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'set_limit', jsonb_build_object('limit_key', set_limit.limit_key, 'max_running', set_limit.max_running),
            set_limit.reason),
        'limit', key, was);
end
$$;
