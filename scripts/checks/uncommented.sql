-- The objects and columns of Errand without a comment, one per line: type and name.
with ours as (
    select oid, nspname
    from pg_namespace
    where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')
),
objects as (
    select 'schema' as what, nspname::text as name, obj_description(oid, 'pg_namespace') as comment
    from ours
    union all
    select
        case relkind
            when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'view' when 'c' then 'type' else 'table'
        end,
        class.oid::regclass::text,
        obj_description(class.oid, 'pg_class')
    from pg_class as class
    join ours on ours.oid = relnamespace
    where relkind in ('r', 'p', 'S', 'v', 'm', 'f') and not relispartition
        and not exists (                -- the sequence of an identity or serial column belongs to its column
            select from pg_depend
            where classid = 'pg_class'::regclass and objid = class.oid and relkind = 'S' and deptype in ('a', 'i')
        )
    union all
    select 'column', class.oid::regclass || '.' || attname, col_description(class.oid, attnum)
    from pg_class as class
    join ours on ours.oid = relnamespace
    join pg_attribute on attrelid = class.oid and attnum > 0 and not attisdropped
    where relkind in ('r', 'p', 'v', 'm', 'f', 'c') and not relispartition
    union all
    select 'function', routine.oid::regprocedure::text, obj_description(routine.oid, 'pg_proc')
    from pg_proc as routine
    join ours on ours.oid = pronamespace
    union all
    select 'type', type.oid::regtype::text, obj_description(type.oid, 'pg_type')
    from pg_type as type
    join ours on ours.oid = typnamespace
    left join pg_class as class on class.oid = typrelid
    where typtype in ('e', 'd', 'r') or (typtype = 'c' and class.relkind = 'c')
)
select what || ' ' || name
from objects
where comment is null
order by what, name;
