-- set_rate: sets how many jobs of the queue start within any span of that length, over all workers; nulls remove the
-- rate.
--
--   select errand.set_rate('mail', per => '1 minute', allowed => 100);
--   select errand.set_rate('mail', per => null, allowed => null, reason => 'the provider allows more');
--
-- per is at least 100 ms, without months and years. errand.audit has the reason. Raises ER422 for values out of bounds,
-- and for an empty reason; ER404 for nulls and a queue that has no rate.
-- errand: for ops
-- errand: topic limits
create or replace function errand.set_rate(
    queue text, per interval, allowed int, reason text default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('queue', set_rate.queue);
    was constant jsonb := errand_internal.setting('rate', key);
begin
    if set_rate.reason is not null then
        perform errand_internal.check_reason('set_rate', set_rate.reason);
    end if;
    if set_rate.queue is null or set_rate.queue !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception 'set_rate: queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(set_rate.queue, 120)), 'null') using errcode = 'ER422';
    elsif set_rate.per is null and set_rate.allowed is null then
        delete from errand.rate where rate.queue = set_rate.queue;
        if not found then
            perform errand_internal.check_known(
                'set_rate: queue', 'one that has a rate', set_rate.queue, array(select queue from errand.rate));
        end if;
        perform errand_internal.note_setting(
            errand_internal.record_action(
                'set_rate', jsonb_build_object('queue', set_rate.queue, 'allowed', null), set_rate.reason),
            'rate', key, was);
        return;
    elsif set_rate.per is null or set_rate.per < interval '100 milliseconds'
        or extract(year from set_rate.per) <> 0 or extract(month from set_rate.per) <> 0
    then
        raise exception 'set_rate: per: expected at least 100 ms, without months and years, got %',
            coalesce(set_rate.per::text, 'null') using errcode = 'ER422';
    elsif set_rate.allowed is null or set_rate.allowed < 1 then
        raise exception 'set_rate: allowed: expected at least 1, got %', coalesce(set_rate.allowed::text, 'null')
            using errcode = 'ER422', hint = 'To stop a queue: select errand.pause_queue(''queue'', ''reason'').';
    end if;
    insert into errand.rate (queue, per, allowed)
    values (set_rate.queue, set_rate.per, set_rate.allowed)
    on conflict on constraint rate_pkey do update
    set per = excluded.per, allowed = excluded.allowed;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'set_rate',
            jsonb_build_object('queue', set_rate.queue, 'per', set_rate.per, 'allowed', set_rate.allowed),
            set_rate.reason),
        'rate', key, was);
end
$$;
