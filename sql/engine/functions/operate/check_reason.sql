-- check_reason: refuses an action without a reason: who comes later wants to know why.
--
-- Raises ER422 where it is null, blank or longer than 1,000 characters.
create or replace function errand.check_reason(action text, reason text) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if btrim(coalesce(reason, '')) = '' or length(reason) > 1000 then
        raise exception '%: reason: expected 1 to 1000 characters, got %',
            action, case when reason is null then 'null' else length(btrim(reason))::text end
            using errcode = 'ER422', hint = 'Say why, for those who read errand.audit.';
    end if;
end
$$;
comment on function errand.check_reason(text, text) is 'Refuses an action without a reason: ER422';
