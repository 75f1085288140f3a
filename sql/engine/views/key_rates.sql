-- key_rates: the rates of keys that are set or in use, with the starts that are reserved.
--
-- A pattern's own row says that it is set. The keys that it bounds have rows of their own while they are in use.
-- errand: for ops, monitor
-- errand: topic limits
create or replace view errand.key_rates as
select
    used.rate_key as name,
    bound.rate_key as set_as,
    bound.per,
    bound.allowed,
    bound.burst,
    used.tat + (1 - bound.burst) * bound.spacing > extract(epoch from now()) as is_full,
    waiting.jobs as reserved,
    waiting.next_at,
    waiting.last_at
from (
    select rate_key, max(tat) as tat from errand.rate_clock group by rate_key
    union
    select rate_key, null
    from errand.key_rate as fixed
    where not exists (select from errand.rate_clock as clock where clock.rate_key = fixed.rate_key)
) as used
left join lateral (
    select fits.*
    from errand.key_rate as fits
    where fits.rate_key = used.rate_key
        or right(fits.rate_key, 1) = '*' and starts_with(used.rate_key, left(fits.rate_key, -1))
    order by fits.rate_key = used.rate_key desc, length(fits.rate_key) desc
    limit 1
) as bound on true
cross join lateral (
    select count(*) as jobs, min(start_at) as next_at, max(start_at) as last_at
    from (
        select start_at
        from errand.rate_reservation as reserved
        where reserved.rate_key = used.rate_key
        order by start_at
        limit 10000) as reserved
) as waiting;
comment on view errand.key_rates is 'Rates of keys, and the starts that jobs over their rate have reserved';
comment on column errand.key_rates.name is 'the key or pattern';
comment on column errand.key_rates.set_as is 'the key or pattern that was set';
comment on column errand.key_rates.per is 'the length of the span';
comment on column errand.key_rates.allowed is 'jobs that may start within per, beside those of a burst';
comment on column errand.key_rates.burst is 'jobs that may start at once, after a time without starts';
comment on column errand.key_rates.is_full is 'whether a job that comes now has to wait; null = nothing has started';
comment on column errand.key_rates.reserved is 'starts that are reserved, counted up to 10,000';
comment on column errand.key_rates.next_at is 'the first of them';
comment on column errand.key_rates.last_at is 'the last of those that were counted';
