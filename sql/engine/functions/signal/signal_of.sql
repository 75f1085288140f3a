-- signal_of: returns what a job that waited for a signal has got, by its options: {"name", "payload"}, without a
-- payload if its time was over, or if the signal is older than 7 days. Null if it has not waited.
create or replace function errand_internal.signal_of(options jsonb) returns jsonb
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select jsonb_build_object('name', options #> '{signal,name}') || case
        when sent.id is not null then jsonb_build_object('payload', sent.payload)
        else '{}'
    end
    from (select) as one
    left join errand.signal as sent on sent.id = (options #>> '{signal,id}')::bigint
    where options ? 'signal'
$$;
