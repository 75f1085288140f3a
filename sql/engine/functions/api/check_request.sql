-- check_request: checks what a request of errand_internal.api_enqueue_v1 names beside its kind and queue. Returns the
-- jobs that the new one is to wait for.
--
-- Raises ER403 for a key of a rate or an order where the kind has one, which is its operators' matter. Raises ER404 for
-- jobs to wait for and a batch that are not the token's.
create or replace function errand_internal.check_request(token errand.api_token, fields jsonb) returns bigint[]
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    parents constant bigint[] := array(
        select id::numeric::bigint from jsonb_array_elements_text(fields -> 'after') as id);
    defaults errand.kind;
    named text;
    missing bigint;
begin
    if fields ?| '{rate_key,order_key,if_head_fails}' then
        select * into defaults from errand.kind where name = fields ->> 'kind';
        named := case
            when defaults.rate_key is not null and fields ? 'rate_key' then 'rate_key'
            when defaults.order_key is not null and fields ? 'order_key' then 'order_key'
            when defaults.order_key is not null and fields ? 'if_head_fails' then 'if_head_fails'
        end;
        if named is not null then
            raise exception 'enqueue: %: expected none, since the kind has its own, got one', named
                using errcode = 'ER403', hint = 'A token can''t leave the rate or the order that a kind has.';
        end if;
    end if;
    if fields ? 'batch' then
        perform errand_internal.batch_of_token(token, (fields ->> 'batch')::numeric::bigint, 'enqueue: batch');
    end if;
    select min(id) into missing
    from unnest(parents) as id
    where id <> all (errand_internal.ids_of_token(parents, token.name));
    if missing is not null then
        raise exception 'enqueue: after: expected jobs of the token''s that are on record, got %', missing
            using errcode = 'ER404';
    end if;
    return nullif(parents, '{}');
end
$$;
