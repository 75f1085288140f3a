-- explain_batch: for errand.explain: of which batch a job is. No row if it is in none.
create or replace function errand_internal.explain_batch(options jsonb)
returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    return query
    select
        'batch',
        format(
            'it is in batch %s (%s), which %s', batch.id, batch.name,
            case errand_internal.batch_state(batch)
                when 'open' then 'is open' when 'closed' then 'is closed and ends after its last job'
                else 'has ended' end),
        format('select * from errand.batch_status(%s)', batch.id)
    from errand.batch
    where batch.id = (explain_batch.options ->> 'batch')::bigint;
end
$$;
