-- table_health: size and dead rows of the tables of the engine and of the apps; a partitioned table is one row.
-- errand: for ops, monitor
-- errand: topic retention
create or replace view errand.table_health as
select
    whole.schema || '.' || whole.name as table_name,
    count(*) as parts,
    sum(pg_total_relation_size(part.relid))::bigint as bytes,
    sum(pg_relation_size(part.relid))::bigint as heap_bytes,
    sum(part.n_live_tup)::bigint as live_rows,
    sum(part.n_dead_tup)::bigint as dead_rows,
    round(100.0 * sum(part.n_dead_tup) / nullif(sum(part.n_live_tup + part.n_dead_tup), 0), 1) as dead_percent,
    max(greatest(part.last_vacuum, part.last_autovacuum)) as last_vacuum,
    max(greatest(part.last_analyze, part.last_autoanalyze)) as last_analyze,
    max(age(class.relfrozenxid)) as oldest_row_transactions
from pg_stat_user_tables as part
join pg_class as class on class.oid = part.relid
left join pg_inherits as child on child.inhrelid = part.relid
left join pg_class as parent on parent.oid = child.inhparent
cross join lateral (
    select part.schemaname as schema, coalesce(parent.relname, part.relname) as name
) as whole
where (part.schemaname = 'errand' or part.schemaname in (select name from errand.app)) and class.relkind = 'r'
group by whole.schema, whole.name;
comment on view errand.table_health is
    'Size, dead rows and last vacuum of each table; the partitions of a table are one row';
comment on column errand.table_health.table_name is 'the table, including its partitions';
comment on column errand.table_health.parts is 'number of partitions';
comment on column errand.table_health.bytes is 'size with indexes and TOAST';
comment on column errand.table_health.heap_bytes is 'size of the rows alone';
comment on column errand.table_health.live_rows is 'estimated by the server';
comment on column errand.table_health.dead_rows is 'rows that vacuum has not removed yet';
comment on column errand.table_health.dead_percent is 'percentage of dead rows';
comment on column errand.table_health.last_vacuum is 'the last vacuum of any partition';
comment on column errand.table_health.last_analyze is 'the last analyze of any partition';
comment on column errand.table_health.oldest_row_transactions is
    'transactions since its oldest unfrozen row; the server stops at two thousand million';
