-- restore_secrets: returns an edited document in which each untouched mask of errand.mask_secrets is the original's
-- value again.
--
--   select errand.restore_secrets('{"photo": 18, "api_key": "••••••••"}', '{"photo": 17, "api_key": "s3cr3t"}');
--
-- A mask is untouched if its name looks secret and the original has a value at the same place.
-- errand: for ops
-- errand: topic retry
create or replace function errand.restore_secrets(edited jsonb, original jsonb) returns jsonb
language plpgsql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    if jsonb_typeof(edited) = 'object' and jsonb_typeof(original) = 'object' then
        return coalesce(
            (
                select jsonb_object_agg(
                    field.key,
                    case
                        when not original ? field.key then field.value
                        when field.value = to_jsonb('••••••••'::text) and errand.seems_secret(field.key)
                            then original -> field.key
                        when jsonb_typeof(field.value) in ('object', 'array')
                            then errand.restore_secrets(field.value, original -> field.key)
                        else field.value
                    end)
                from jsonb_each(edited) as field(key, value)),
            '{}');
    elsif jsonb_typeof(edited) = 'array' and jsonb_typeof(original) = 'array' then
        return coalesce(
            (
                select jsonb_agg(
                    case
                        when jsonb_typeof(element.value) in ('object', 'array')
                            then errand.restore_secrets(element.value, original -> (element.index::int - 1))
                        else element.value
                    end order by element.index)
                from jsonb_array_elements(edited) with ordinality as element(value, index)),
            '[]');
    end if;
    return edited;
end
$$;
