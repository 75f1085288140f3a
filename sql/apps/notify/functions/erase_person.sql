-- erase_person: deletes all that this app has about a person: deliveries, notifications that went to nobody else, and
-- keys. Returns the number of rows. It is idempotent.
create or replace function notify.erase_person(user_id text) returns bigint
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp as $$
#variable_conflict use_column
declare
    messages uuid[];
    gone bigint;
    total bigint;
begin
    -- In the order in which jobs record results, so that neither waits for the other.
    perform from notify.delivery where user_id = $1 order by id for update;
    with gone as (
        delete from notify.delivery where user_id = $1 returning message_id
    )
    select array_agg(distinct message_id), count(*) into messages, total from gone;
    delete from notify.message
    where id = any (messages) and not exists (select from notify.delivery where message_id = message.id);
    get diagnostics gone = row_count;
    total := total + gone;
    delete from notify.once where user_id = $1;
    get diagnostics gone = row_count;
    return total + gone;
end
$$;
