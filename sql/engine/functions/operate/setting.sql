-- setting: returns a setting of operators as it is now: its row's columns that operators set; null if there is none.
-- name is its table: limit, rate, key_rate, queue, circuit, retention, schedule or worker. key has the columns of its
-- primary key.
--
-- The row stays locked unless locks is false. Times are in UTC, so that two results can be compared.
create or replace function errand_internal.setting(name text, key jsonb, locks boolean default true) returns jsonb
language plpgsql set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC' set intervalstyle = 'postgres'
as $$
declare
    row_now jsonb;
begin
    execute format(
        'select to_jsonb(one) from (select %s from errand.%I as existing where %s%s) as one',
        case setting.name
            when 'limit' then 'limit_key, max_running'
            when 'rate' then 'queue, per, allowed'
            when 'key_rate' then 'rate_key, per, allowed, burst, grace, spacing'
            when 'queue' then 'name, paused_at, paused_until, paused_reason, paused_by'
            when 'circuit' then 'name, opened_at, until, opened_by, reason'
            when 'retention' then 'kind, state, keep, reason, set_by'
            when 'worker' then 'id, drained_at, drained_by, drained_reason'
            when 'schedule' then
                'name, cron, every, time_zone, kind, payload, missed, queue, max_lateness, max_catch_up, priority, '
                'tags, limit_key, subject, overlap, jitter, starts_at, ends_at, paused_at, paused_reason, exceptions, '
                'definition, defined_by, app, owner'
        end,
        setting.name,
        (
            select string_agg(
                format(
                    'existing.%I = %L::%s', part.column_name, part.value,
                    case when setting.name = 'worker' then 'bigint' else 'text' end), ' and ')
            from jsonb_each_text(setting.key) as part(column_name, value)),
        case when setting.locks then ' for update' else '' end)
    into row_now;
    return row_now;
end
$$;
