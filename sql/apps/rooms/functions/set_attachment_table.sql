-- set_attachment_table: names the table for events over 7,999 bytes, which is the adapter's option tableName.
--
--   select rooms.set_attachment_table('api.socket_io_attachments', 'the schema of the API servers');
--
-- The default is public.socket_io_attachments. A name without a schema is in public. The table needn't exist yet.
-- Raises ER422 for a text that is no name of a table, for a table of Errand or PostgreSQL, or without a reason.
-- errand: for ops
create or replace function rooms.set_attachment_table(name text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, rooms, pg_temp as $$
declare
    parts text[];
begin
    perform errand_internal.check_reason('set_attachment_table', reason);
    begin
        parts := parse_ident(name);
    exception
        when invalid_parameter_value then
            null;                       -- parts is null
    end;
    if cardinality(parts) = 1 then
        parts := array['public'] || parts;
    end if;
    if cardinality(parts) is distinct from 2 then
        raise exception 'set_attachment_table: name: expected the name of a table, such as public.attachments, got %',
            quote_nullable(left(name, 100)) using errcode = 'ER422';
    elsif parts[1] ~ '^pg_' or parts[1] = 'information_schema'
        or to_regnamespace(quote_ident(parts[1]))::oid = any (errand_internal.namespaces())
    then
        raise exception 'set_attachment_table: name: expected a table of the API servers, got %',
            quote_nullable(left(name, 100)) using errcode = 'ER422';
    end if;
    update rooms.setting set attachment_schema = parts[1], attachment_table = parts[2];
    perform errand_internal.record_action('rooms.set_attachment_table', jsonb_build_object('name', name), reason);
end
$$;
