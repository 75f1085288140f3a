-- checked_kinds: the kinds each of whose jobs has to be asked about before it starts, since they need something that is
-- known to be down, or have a limit, which jobs from before its kind's registration don't name; null if there are none.
create or replace function errand.checked_kinds() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(kind.name)
    from errand.kind
    left join errand.dependency on dependency.name = kind.dependency
    where dependency.opened_at is not null or kind.limit_key is not null
$$;
comment on function errand.checked_kinds() is
    'The kinds that need something that is known to be down, or have a limit; null = none';
