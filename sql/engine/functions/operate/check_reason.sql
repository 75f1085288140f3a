-- check_reason: raises ER422 for an action without a reason, or with one over 1,000 characters. Later readers of
-- errand.audit want to know why.
create or replace function errand_internal.check_reason(action text, reason text) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if btrim(coalesce(reason, '')) = '' or length(reason) > 1000 then
        raise exception '%: reason: expected 1 to 1000 characters, got %',
            action, case when reason is null then 'null' else length(btrim(reason))::text end
            using errcode = 'ER422', hint = 'Say why: errand.audit shows it.';
    end if;
end
$$;
