-- trim_claim: of the rows that a claim has locked, returns those that it may take, in their order.
--
-- Jobs that are claimed only to start at once, beyond begin_now of them, are left for a later claim (rest = 'slots'):
-- those on their last attempt, of a crash, with the slot of a limit, or with a rate. So is everything beyond 16 MiB of
-- payloads as text (rest = 'more'). A job whose payload alone is longer, or can't be written as text, moves to
-- errand.failed: no worker could receive it.
create or replace function errand_internal.trim_claim(picked tid[], begin_now int, out fit tid[], out rest text)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    most constant int := 16777216;
    is_bounded constant boolean := exists (select from errand.limit);
    is_rated constant boolean := exists (select from errand.key_rate);
    existing errand.job;
    begins_at_once boolean;
    bytes bigint := 0;
    size bigint;
begin
    fit := '{}';
    for index in 1..cardinality(picked) loop
        select * into existing from errand.job where ctid = picked[index];
        begins_at_once := existing.crashes > 0 or existing.attempt + 1 >= existing.max_attempts
            or is_rated and existing.rate_key is not null
            or is_bounded and exists (
                select
                from errand.limit_slot as slot
                where slot.job_id = existing.id and slot.queue_position = existing.queue_position and slot.slot > 0);
        if begins_at_once and begin_now <= 0 then
            rest := coalesce(rest, 'slots');
            continue;
        end if;
        size := coalesce(existing.payload_bytes, errand_internal.payload_bytes(existing.payload, most));
        if size is null or size > most then
            perform errand_internal.move_to_failed(
                existing, format('payload: expected at most %s bytes as text, got %s', most,
                coalesce(size::text, 'more')));
            rest := 'more';
            continue;
        elsif bytes + size > most then
            rest := 'more';
            exit;
        end if;
        bytes := bytes + size;
        fit := fit || picked[index];
        if begins_at_once then
            begin_now := begin_now - 1;
        end if;
    end loop;
end
$$;
