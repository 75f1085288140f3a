-- put_api_token: sets a token of the HTTP API: what its holder may enqueue. `errand token put` makes the token, and
-- calls this with its SHA-256.
--
--   select errand.put_api_token('shop', sha256('a token'), kinds => '{send_mail}', reason => 'the shop''s server');
--
-- A name that is set already gets the new token and the new bounds, and keeps its jobs: the old token is refused at
-- once. kinds and queues are what it may enqueue, null = all. Returns whether the name is new. The audit has it.
--
-- Raises ER422 for a name, a hash or a bound that is none, and ER409 for a hash that another name has.
-- errand: for ops
-- errand: topic api
create or replace function errand.put_api_token(
    name text, hash bytea, kinds text[] default null, queues text[] default null, reason text default null
) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    is_new boolean;
begin
    if put_api_token.reason is not null then
        perform errand_internal.check_reason('put_api_token', put_api_token.reason);
    end if;
    if (put_api_token.name ~ '^[a-z][a-z0-9_.-]{0,89}$') is not true then
        raise exception 'put_api_token: name: expected a-z, then up to 89 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(put_api_token.name, 120)), 'null') using errcode = 'ER422';
    elsif (octet_length(put_api_token.hash) = 32) is not true then
        raise exception 'put_api_token: hash: expected the 32 bytes of a SHA-256, got %',
            coalesce(octet_length(put_api_token.hash)::text, 'null') using errcode = 'ER422';
    end if;
    perform errand_internal.check_api_names('kinds', put_api_token.kinds);
    perform errand_internal.check_api_names('queues', put_api_token.queues);
    if exists (
        select from errand.api_token as other
        where other.hash = put_api_token.hash and other.name <> put_api_token.name)
    then
        raise exception 'put_api_token: hash: expected that of a new token, got that of another name'
            using errcode = 'ER409', hint = 'Two names with one token would be one caller.';
    end if;
    is_new := not exists (select from errand.api_token as existing where existing.name = put_api_token.name);
    insert into errand.api_token as existing (name, hash, kinds, queues)
    values (put_api_token.name, put_api_token.hash, put_api_token.kinds, put_api_token.queues)
    on conflict on constraint api_token_pkey do update
    set hash = excluded.hash, kinds = excluded.kinds, queues = excluded.queues, set_at = now(), set_by = session_user;
    perform errand_internal.record_action(
        'put_api_token',
        jsonb_build_object('name', put_api_token.name, 'kinds', put_api_token.kinds, 'queues', put_api_token.queues),
        put_api_token.reason);
    return is_new;
end
$$;
