-- tell_untaken: sends a NOTICE that no live worker takes the kind: the job is enqueued all the same. Returns true, so
-- that errand.enqueue calls it in a condition, only for such a kind.
create or replace function errand_internal.tell_untaken(kind text, since timestamptz) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    raise notice 'enqueue: kind %: no live worker takes it since %', kind, since
        using hint = 'The job waits for one: select * from errand.health().';
    return true;
end
$$;
