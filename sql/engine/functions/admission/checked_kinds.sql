-- checked_kinds: returns the kinds whose jobs need an admission check each, null = none: their dependency is down, or
-- they have a limit. Jobs from before their kind's registration don't name its limit.
create or replace function errand.checked_kinds() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(kind.name)
    from errand.kind
    left join errand.dependency on dependency.name = kind.dependency
    where dependency.opened_at is not null or kind.limit_key is not null
$$;
comment on function errand.checked_kinds() is
    'Returns the kinds with a limit or with a dependency that is down; null = none';
