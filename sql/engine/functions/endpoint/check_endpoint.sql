-- check_endpoint: raises ER422 for an endpoint that none can be. The message doesn't have the URL, which may be secret.
create or replace function errand_internal.check_endpoint(endpoint errand.endpoint) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if (endpoint.name ~ '^[a-z][a-z0-9_.-]{0,89}$') is not true then
        raise exception 'put_endpoint: name: expected a-z, then up to 89 of a-z 0-9 _ . -, got %',
            coalesce(quote_literal(left(endpoint.name, 120)), 'null') using errcode = 'ER422';
    elsif (
        length(endpoint.url) <= 2000
        and endpoint.url ~ '^https?://([A-Za-z0-9_.-]+|[[][0-9A-Fa-f:.]+[]])(:[0-9]{1,5})?([/?][!"$-~]*)?$') is not true
    then
        raise exception 'put_endpoint: url: expected https://HOST, a port, a path and a query as needed, no user, no '
            'fragment, and at most 2000 characters, got %', coalesce('one of ' || length(endpoint.url), 'null')
            using errcode = 'ER422', hint = 'What is not ASCII is written with percent signs.';
    elsif endpoint.url not like 'https://%' and not endpoint.allows_private then
        raise exception 'put_endpoint: url: expected https://, got http://'
            using errcode = 'ER422', hint = 'allows_private => true allows http://, and private addresses.';
    elsif (endpoint.secret_name ~ '^[a-z][a-z0-9_.-]{0,89}$') is not true then
        raise exception 'put_endpoint: secret_name: expected a-z, then up to 89 of a-z 0-9 _ . -, got another name'
            using errcode = 'ER422', hint = 'The name of the secret, not the secret: the workers have it.';
    elsif (endpoint.timeout between interval '100 milliseconds' and interval '5 minutes') is not true then
        raise exception 'put_endpoint: timeout: expected 100 ms to 5 min, got %',
            coalesce(endpoint.timeout::text, 'null')
            using errcode = 'ER422', hint = 'A longer job is accepted with 202, and its server calls back.';
    elsif (endpoint.callback_timeout between interval '1 second' and interval '7 days') is not true then
        raise exception 'put_endpoint: callback_timeout: expected 1 s to 7 days, got %',
            coalesce(endpoint.callback_timeout::text, 'null') using errcode = 'ER422';
    elsif endpoint.max_running not between 0 and 1000000 then
        raise exception 'put_endpoint: max_running: expected 0 to 1000000, or null for no limit, got %',
            endpoint.max_running using errcode = 'ER422';
    elsif endpoint.allows_private is null then
        raise exception 'put_endpoint: allows_private: expected true or false, got null' using errcode = 'ER422';
    end if;
end
$$;
