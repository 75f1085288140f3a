-- set_key_rate: sets how many jobs with this rate_key start within any span of that length, over all workers; nulls
-- remove the rate. errand.set_rate is for a queue.
--
--   select errand.set_key_rate('tenant/42', per => '1 minute', allowed => 100, burst => 10);
--   select errand.set_key_rate('tenant/*', '1 minute', 20);   -- each tenant without a rate of its own
--   select errand.set_key_rate('tenant/42', null, null, reason => 'they pay for more');
--
-- burst jobs may start at once after a time without starts. Any span of per holds at most allowed + burst starts. Each
-- attempt is a start. A job over the rate is scheduled for a time that is reserved for it. Jobs that have reserved get
-- new times within a second or two.
--
-- per is at least 1 s, without months and years. A rate of more than one a second falls short by 1 s in per + 1 s, so
-- take a longer span. errand.audit has the reason. Raises ER422 for values out of bounds, and for an empty reason;
-- ER404 for nulls and a key that has no rate.
-- errand: for ops
-- errand: topic limits
create or replace function errand.set_key_rate(
    rate_key text, per interval, allowed int, burst int default 1, reason text default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    grace double precision;
    key constant jsonb := jsonb_build_object('rate_key', set_key_rate.rate_key);
    was constant jsonb := errand_internal.setting('key_rate', key);
begin
    if set_key_rate.reason is not null then
        perform errand_internal.check_reason('set_key_rate', set_key_rate.reason);
    end if;
    if set_key_rate.rate_key is null or length(set_key_rate.rate_key) not between 1 and 500 then
        raise exception 'set_key_rate: rate_key: expected 1 to 500 characters, got %',
            coalesce(quote_literal(left(set_key_rate.rate_key, 120)), 'null') using errcode = 'ER422';
    elsif set_key_rate.per is null and set_key_rate.allowed is null then
        delete from errand.key_rate as existing where existing.rate_key = set_key_rate.rate_key;
        if not found then
            perform errand_internal.check_known(
                'set_key_rate: rate_key', 'one that has a rate', set_key_rate.rate_key,
                array(select rate_key from errand.key_rate));
        end if;
    elsif set_key_rate.per is null or set_key_rate.per < interval '1 second'
        or extract(year from set_key_rate.per) <> 0 or extract(month from set_key_rate.per) <> 0
    then
        raise exception 'set_key_rate: per: expected at least 1 s, without months and years, got %',
            coalesce(set_key_rate.per::text, 'null') using errcode = 'ER422';
    elsif (set_key_rate.allowed between 1 and 1000000) is not true then
        raise exception 'set_key_rate: allowed: expected 1 to 1000000, got %',
            coalesce(set_key_rate.allowed::text, 'null')
            using errcode = 'ER422',
            hint = 'To stop the jobs of a key: errand.set_limit with their limit_key and 0.';
    elsif (set_key_rate.burst between 1 and 1000000) is not true then
        raise exception 'set_key_rate: burst: expected 1 to 1000000, got %', coalesce(set_key_rate.burst::text, 'null')
            using errcode = 'ER422';
    else
        grace := greatest(1, extract(epoch from set_key_rate.per) / set_key_rate.allowed);
        insert into errand.key_rate (rate_key, per, allowed, burst, grace, spacing)
        values (
            set_key_rate.rate_key, set_key_rate.per, set_key_rate.allowed, set_key_rate.burst, grace,
            -- Of starts that are so late, allowed + burst fit into per and no more.
            (extract(epoch from set_key_rate.per) + grace) / (set_key_rate.allowed + 1))
        on conflict on constraint key_rate_pkey do update
        set per = excluded.per, allowed = excluded.allowed, burst = excluded.burst, grace = excluded.grace,
            spacing = excluded.spacing, set_at = now();
    end if;
    insert into errand.rate_change (rate_key) values (set_key_rate.rate_key);
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'set_key_rate',
            jsonb_build_object(
                'rate_key', set_key_rate.rate_key, 'per', set_key_rate.per, 'allowed', set_key_rate.allowed, 'burst',
                case when set_key_rate.allowed is not null then set_key_rate.burst end),
            set_key_rate.reason),
        'key_rate', key, was);
end
$$;
