-- mask_secrets: returns a document with a mask in place of the values whose names look secret.
--
--   select errand.mask_secrets('{"photo": 17, "api_key": "s3cr3t"}');
--
-- Everything below such a name is masked; null stays null.
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.mask_secrets(document jsonb) returns jsonb
language plpgsql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    case jsonb_typeof(document)
        when 'object' then
            return coalesce(
                (
                    select jsonb_object_agg(
                        field.key,
                        case
                            when jsonb_typeof(field.value) = 'null' then field.value
                            when errand.seems_secret(field.key) then to_jsonb('••••••••'::text)
                            when jsonb_typeof(field.value) in ('object', 'array')
                                then errand.mask_secrets(field.value)
                            else field.value
                        end)
                    from jsonb_each(document) as field(key, value)),
                '{}');
        when 'array' then
            return coalesce(
                (
                    select jsonb_agg(
                        case
                            when jsonb_typeof(element.value) in ('object', 'array')
                                then errand.mask_secrets(element.value)
                            else element.value
                        end order by element.index)
                    from jsonb_array_elements(document) with ordinality as element(value, index)),
                '[]');
        else return document;
    end case;
end
$$;
