-- queue_for_token: returns the queue of a job that the holder of a token of the HTTP API asks for: the named one, else
-- the kind's. The insert names it, since the kind's own may change meanwhile.
--
-- Raises ER403, with context in front, for a kind or a queue that is not the token's.
create or replace function errand_internal.queue_for_token(
    token errand.api_token, kind text, queue text, context text default 'enqueue'
) returns text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    chosen constant text := coalesce(
        queue, (select defaults.queue from errand.kind as defaults where defaults.name = kind), 'default');
begin
    if not kind = any (token.kinds) then
        raise exception '%: kind: expected one of the token''s, got %', context, quote_literal(left(kind, 120))
            using errcode = 'ER403', hint = 'An operator sets them: errand token put.';
    elsif not chosen = any (token.queues) then
        raise exception '%: queue: expected one of the token''s, got %', context, quote_literal(left(chosen, 120))
            using errcode = 'ER403', hint = 'An operator sets them: errand token put.';
    end if;
    return chosen;
end
$$;
