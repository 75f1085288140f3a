-- erase_person: deletes all that this app has about a person: devices, changes, and the name in the changes of others.
-- Returns the number of rows. It is idempotent.
create or replace function devices.erase_person(user_id text) returns bigint
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp as $$
#variable_conflict use_column
declare
    gone bigint;
    total bigint := 0;
begin
    -- The row's lock first, as in a registration.
    delete from devices.person where user_id = $1;
    get diagnostics gone = row_count;
    total := total + gone;
    delete from devices.device where user_id = $1;
    get diagnostics gone = row_count;
    total := total + gone;
    delete from devices.change where user_id = $1;
    get diagnostics gone = row_count;
    total := total + gone;
    update devices.change set from_user = null where from_user = $1;
    get diagnostics gone = row_count;
    return total + gone;
end
$$;
