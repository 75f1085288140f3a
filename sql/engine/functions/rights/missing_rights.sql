-- missing_rights: returns the grants and revokes from the current rights to those of errand_internal.rights, for the
-- existing roles and for PUBLIC.
-- errand: after rights
create or replace function errand_internal.missing_rights(roles text[]) returns setof text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with object as (
        select
            'function' as what,
            pronamespace::regnamespace || '.' || proname || substring(oid::regprocedure::text, E'\\(.*') as name,
            pronamespace::regnamespace || '.' || proname as short, 'function' as word, proacl as acl,
            'f'::"char" as sort, proowner as owner
        from pg_proc
        where pronamespace = any (errand_internal.namespaces())
        union all
        select 'view', relnamespace::regnamespace || '.' || relname, relnamespace::regnamespace || '.' || relname,
            case relkind when 'S' then 'sequence' else 'table' end, relacl,
            case relkind when 'S' then 's' else 'r' end::"char", relowner
        from pg_class
        where relnamespace = any (errand_internal.namespaces()) and relkind in ('r', 'p', 'v', 'm', 'S')
        union all
        select 'schema', nspname, nspname, 'schema', nspacl, 'n', nspowner
        from pg_namespace
        where oid = any (errand_internal.namespaces())
        union all
        select 'type', type.oid::regtype::text, typnamespace::regnamespace || '.' || typname, 'type', typacl, 'T',
            typowner
        from pg_type as type
        left join pg_class as class on class.oid = typrelid
        where typnamespace = any (errand_internal.namespaces())
            and (typtype in ('e', 'd', 'r') or typtype = 'c' and class.relkind = 'c')
    ),
    actual as (
        select object.word, object.name, coalesce(pg_roles.rolname, 'public') as role, entry.privilege_type as privilege
        from object
        cross join lateral aclexplode(coalesce(object.acl, acldefault(object.sort, object.owner))) as entry
        left join pg_roles on pg_roles.oid = entry.grantee
        where entry.grantee <> object.owner and (entry.grantee = 0 or pg_roles.rolname = any (roles))
    ),
    wanted as (
        select distinct object.word, object.name, existing.role, existing.privilege
        from errand_internal.rights() as existing
        join object on object.what = existing.what and object.short = existing.object
        where to_regrole(existing.role) is not null
    )
    select format('revoke %s on %s %s from %s', privilege, word, name, role)
    from (select * from actual except select * from wanted) as surplus
    union all
    select format('grant %s on %s %s to %s', privilege, word, name, role)
    from (select * from wanted except select * from actual) as missing
    union all
    select format('grant select (%I) on %s to errand_monitor', attname, attrelid::regclass)
    -- errand_monitor reads these views of the apps without the columns that say whose something is, or what it says.
    -- Applications filter these views by such columns: nulls instead would cost them the index.
    from errand.declaration
    join pg_attribute on attrelid = to_regclass(object) and attnum > 0 and not attisdropped
    where hidden <> '{}' and attname <> all (hidden) and to_regrole('errand_monitor') is not null
        and not has_column_privilege('errand_monitor', attrelid, attnum, 'SELECT')
$$;
