-- check_parents: checks the jobs that a new one is to wait for, and returns what its options say of them: {"after",
-- "if_parent_fails"}, the newest parent last. Null for none.
--
-- Raises ER422 for more than 1,000 jobs and for an unknown if_parent_fails, and as errand_internal.check_known_parents
-- does unless the caller has called it.
create or replace function errand_internal.check_parents(
    context text, after bigint[], if_parent_fails text, are_known boolean default false
) returns jsonb
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    parents constant bigint[] := array(select distinct id from unnest(after) as id order by id);
begin
    if if_parent_fails is null or if_parent_fails not in ('wait', 'go_on', 'cancel') then
        raise exception '%: if_parent_fails: expected wait, go_on or cancel, got %', context,
            coalesce(quote_literal(left(if_parent_fails, 120)), 'null') using errcode = 'ER422';
    elsif array_position(after, null) > 0 then
        raise exception '%: after: expected ids of jobs, got null', context using errcode = 'ER422';
    elsif cardinality(parents) > 1000 then
        raise exception '%: after: expected at most 1000 jobs, got %', context, cardinality(parents)
            using errcode = 'ER422', hint = 'Put jobs in between, each of which waits for some of them.';
    elsif parents = '{}' then
        return null;
    elsif not are_known then
        perform errand_internal.check_known_parents(context, parents);
    end if;
    return jsonb_build_object('after', to_jsonb(parents), 'if_parent_fails', if_parent_fails);
end
$$;
