-- writers_of: returns the transactions that may have written to a table without being visible to a snapshot that is
-- taken now: those that hold its lock for writes.
--
-- A transaction that begins to write later is not among them, and sees what is committed now. A snapshot alone does not
-- list them: it doesn't know those that began after the last one that has ended.
create or replace function errand_internal.writers_of(written regclass) returns xid8[]
language plpgsql volatile set search_path = pg_catalog, errand, pg_temp as $$
declare
    -- Above any running transaction: pg_locks has 32 bits of an id, and this adds the others.
    ceiling constant bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000000;
begin
    return array(
        with held as materialized (
            select * from pg_locks where locktype in ('relation', 'transactionid')
        )
        select distinct (ceiling - ((ceiling - writer::text::bigint) & 4294967295))::text::xid8
        from (
            select owned.transactionid as writer
            from held as owned
            join held as touched using (virtualtransaction)
            where touched.locktype = 'relation' and touched.relation = written
                and touched.database = (select oid from pg_database where datname = current_database())
                and touched.mode = 'RowExclusiveLock' and owned.locktype = 'transactionid'
                and owned.mode = 'ExclusiveLock'
            union all
            -- While a transaction is prepared its locks change hands one by one.
            select transaction
            from pg_prepared_xacts
            where database = current_database() and prepared > clock_timestamp() - interval '1 minute') as writers);
end
$$;
