-- checked_kinds: returns the kinds whose jobs need an admission check each, null = none: they are paused
-- (errand.pause_kind), their circuit is open, or they have a limit or a rate. Jobs from before their kind's
-- registration don't name its limit or rate.
create or replace function errand_internal.checked_kinds() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(kind.name)
    from errand.kind
    where kind.limit_key is not null or kind.rate_key is not null
        or exists (
            select
            from errand.circuit
            where opened_at is not null and circuit.name = any (kind.circuits || ('kind:' || kind.name)))
$$;
