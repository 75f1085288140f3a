-- undo_setting: for errand.undo: gives a setting its values from before (errand_internal.setting); null removes it.
-- A schedule goes on from now: ticks of a pause, or of other times, are not made up for.
create or replace function errand_internal.undo_setting(name text, key jsonb, was jsonb) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing constant jsonb := errand_internal.setting(undo_setting.name, undo_setting.key);
    condition constant text := (
        select string_agg(
            format(
                'existing.%I = %L::%s', part.key, part.value,
                case when undo_setting.name = 'worker' then 'bigint' else 'text' end), ' and ')
        from jsonb_each_text(undo_setting.key) as part);
    columns constant text := (
        select string_agg(format('%I', part.key), ', ' order by part.key)
        from jsonb_object_keys(undo_setting.was) as part(key)
        where existing is null or not undo_setting.key ? part.key);
    -- In an object, null would be no payload.
    fresh constant text := format(
        'select %s from jsonb_populate_record(null::errand.%I, $1) as fresh',
        replace(columns, 'payload', 'coalesce(payload, ''null'')'), undo_setting.name);
begin
    if undo_setting.name = 'circuit' and undo_setting.was ->> 'opened_at' is null then
        -- Jobs are parked for it: the row stays.
        perform errand_internal.circuit_closed(undo_setting.key ->> 'name');
    elsif undo_setting.was is null then
        execute format('delete from errand.%I as existing where %s', undo_setting.name, condition);
    elsif existing is null then
        execute format('insert into errand.%I (%s) %s', undo_setting.name, columns, fresh) using undo_setting.was;
    else
        execute format(
            'update errand.%I as existing set (%s) = (%s) where %s', undo_setting.name, columns, fresh, condition)
        using undo_setting.was;
    end if;
    case undo_setting.name
        when 'key_rate' then
            insert into errand.rate_change (rate_key) values (undo_setting.key ->> 'rate_key');
        when 'schedule' then
            if undo_setting.was is null then
                delete from errand.schedule_plan where schedule = undo_setting.key ->> 'name';
            else
                update errand.schedule as existing
                set
                    changed_at = now(), next_tick = null,
                    last_tick = case when is_same_clock then existing.last_tick
                        else greatest(existing.last_tick, now()) end,
                    last_local = case when is_same_clock then existing.last_local end
                from (
                    select coalesce(bool_and(undo_setting.was -> part is not distinct from existing -> part), false)
                        as is_same_clock
                    from unnest('{cron,every,time_zone,starts_at,ends_at,paused_at}'::text[]) as part
                ) as clock
                where existing.name = undo_setting.key ->> 'name';
                if undo_setting.was ->> 'paused_at' is null then
                    perform errand_internal.plan_schedule(undo_setting.key ->> 'name');
                end if;
            end if;
        when 'queue', 'worker' then
            perform errand_internal.wake();
        else
            null;
    end case;
end
$$;
