-- merged_payload: returns the payload of a waiting job with that of an enqueue added, for on_conflict => 'merge': of
-- two objects the fields of both, the newer ones where both have a field; of two arrays the elements of both.
--
-- Raises ER422 for a job of another kind, for payloads of other types and for encrypted ones, and ER413 and ER422 for
-- the result as errand_internal.check_job does.
create or replace function errand_internal.merged_payload(existing errand.job, kind text, payload jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    waiting constant jsonb := coalesce(
        existing.payload, errand_internal.large_payload(existing.payload_day, existing.id));
    merged constant jsonb := waiting || payload;
begin
    if existing.kind <> merged_payload.kind then
        raise exception 'enqueue: kind: expected %, that of job % with the unique key, got %', existing.kind,
            existing.id, merged_payload.kind using errcode = 'ER422';
    elsif jsonb_typeof(waiting) <> jsonb_typeof(payload) or jsonb_typeof(payload) not in ('object', 'array') then
        raise exception 'enqueue: payload: expected % to merge with that of job % with the unique key, got %',
            case when jsonb_typeof(waiting) in ('object', 'array') then jsonb_typeof(waiting)
                else 'no ' || jsonb_typeof(waiting) end,
            existing.id, jsonb_typeof(payload) using errcode = 'ER422', hint = 'Two objects or two arrays are merged.';
    elsif jsonb_typeof(payload) = 'object' and (waiting ? '$enc' or payload ? '$enc') then
        raise exception
            'enqueue: payload: expected two that aren''t encrypted, to merge, got such a one for job %', existing.id
            using errcode = 'ER422', hint = 'The server can''t read their fields: the older ones would be lost.';
    end if;
    perform errand_internal.check_job(merged_payload.kind, merged, null, null, null, null, 'enqueue: merged');
    return merged;
end
$$;
