-- attach: inserts a message into the adapter's table for large ones; returns its id there. bytes is the size of the
-- message as JSON, for the error.
--
-- The table belongs to the API servers, and this inserts with the rights of errand_owner. So the table must have no
-- trigger, rule, policy or check, which would run with these rights, and its columns get no default. It is locked, so
-- that it stays as it was checked.
create or replace function rooms.attach(payload bytea, bytes int) returns bigint
language plpgsql set search_path = pg_catalog, rooms, pg_temp as $$
declare
    name constant text := (select format('%I.%I', attachment_schema, attachment_table) from rooms.setting);
    target regclass;
    columns text;
    id bigint;
begin
    if to_regclass(name) is null then
        raise exception 'emit: expected at most 7999 bytes, got %: more needs the table %, which does not exist',
            bytes, name using errcode = 'ER413',
            hint = 'Create it as the adapter''s manual says, or name it: select rooms.set_attachment_table(…).';
    end if;
    execute format('lock table only %s in row exclusive mode', name);
    target := to_regclass(name);
    select string_agg(attname || ' ' || atttypid::regtype, ', ' order by attname) into columns
    from pg_attribute
    where attrelid = target and attnum > 0 and not attisdropped;
    if columns not in (
        'created_at timestamp with time zone, id bigint, payload bytea',
        'created_at timestamp with time zone, id integer, payload bytea'
    ) or pg_get_serial_sequence(name, 'id') is null then
        raise exception 'emit: table %: expected id bigserial, created_at timestamptz, payload bytea, got %',
            name, columns using errcode = 'ER409';
    elsif exists (
        select from pg_class where oid = target and (relkind <> 'r' or relispartition or relrowsecurity or relhasrules)
    ) or exists (select from pg_trigger where tgrelid = target and not tgisinternal)
        or exists (select from pg_constraint where conrelid = target and contype in ('c', 'x'))
        or exists (select from pg_index where indrelid = target and (indexprs is not null or indpred is not null))
    then
        raise exception 'emit: table %: expected a plain table, got one with a trigger, rule, policy or check',
            name using errcode = 'ER409';
    end if;
    id := nextval(pg_get_serial_sequence(name, 'id'));
    -- Not now(): a long transaction may have begun much earlier, and the servers delete rows after 30 s.
    execute format('insert into %s (id, created_at, payload) overriding system value values ($1, $2, $3)', name)
    using id, clock_timestamp(), payload;
    return id;
exception
    when insufficient_privilege then
        raise exception 'emit: table %: %', name, sqlerrm using
            errcode = '42501', hint = format(
                'Its owner grants: grant insert, delete on %s to errand_owner; and usage on the sequence of its id, '
                'and on its schema.', name);
end
$$;
