-- held_kinds: the kinds that need something that is known to be down; null if there are none.
create or replace function errand.held_kinds() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(kind.name)
    from errand.dependency
    join errand.kind on kind.dependency = dependency.name
    where dependency.opened_at is not null
$$;
comment on function errand.held_kinds() is 'The kinds that need something that is known to be down; null = none';
