-- roles: creates the roles of a cell in the front's server, and lets them use what the functions and views of the front
-- are made of. Rights to the functions and views themselves come with these: errand_internal.front_script.
do $$
declare
    role text;
begin
    foreach role in array '{errand_owner,errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[] loop
        if to_regrole(role) is null then
            execute format('create role %I nologin', role);
        end if;
    end loop;
end
$$;
revoke execute on all functions in schema errand_front from public;
grant usage on schema errand, errand_front to errand_worker, errand_enqueuer, errand_ops, errand_monitor;
grant select on errand_front.cell, errand_front.slot to errand_worker, errand_enqueuer, errand_ops, errand_monitor;
grant execute on function
    errand_front.route(text, text, text[], bigint[], text, text, bigint), errand_front.chosen_partition(),
    errand_front.partition_of(int),
    errand_front.taken_keys_at(int, text[]), errand_front.enqueue_split(int[], jsonb[]),
    errand_front.enqueue_parts(jsonb), errand_front.share_routes(), errand_front.lock_slot(text)
to errand_worker, errand_enqueuer, errand_ops;
grant execute on function
    errand_front.route(text, text, text[], bigint[], text, text, bigint), errand_front.chosen_partition(),
    errand_front.partition_of(int),
    errand_front.partitions_of_ids(bigint[]), errand_front.moved_to_at(int, bigint[]),
    errand_front.holders_on_all(bigint[]), errand_front.partition_of_schedule(text),
    errand_front.schedule_on_all(text), errand_front.loads(), errand_front.loads_on_all(), errand_front.loads_at(int)
to errand_ops, errand_monitor;
grant select on errand_front.cell_status to errand_ops, errand_monitor;
