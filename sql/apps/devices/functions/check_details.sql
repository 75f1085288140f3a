-- check_details: raises ER422 for an app, an environment, a time zone or a locale that no device can have.
create or replace function devices.check_details(
    context text, platform text, app text, environment text, time_zone text, locale text
) returns void
language plpgsql stable set search_path = pg_catalog, devices, pg_temp as $$
begin
    if (length(app) <= 200 and app ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$') is false then
        raise exception '%: app: expected 1 to 200 of A-Z a-z 0-9 . _ -, such as a bundle id, got %',
            context, quote_literal(left(app, 100)) using errcode = 'ER422';
    elsif platform = 'fcm' and environment is not null then
        raise exception '%: environment: expected none beside the platform fcm, got %',
            context, quote_literal(left(environment, 100)) using errcode = 'ER422';
    elsif environment not in ('production', 'sandbox') then
        raise exception '%: environment: expected production or sandbox, got %',
            context, quote_literal(left(environment, 100)) using errcode = 'ER422';
    elsif (length(locale) <= 100 and locale ~ '^[A-Za-z]{2,8}([-_@][A-Za-z0-9@=;_-]*)?$') is false then
        raise exception '%: locale: expected a language and a region such as pt-BR, got %',
            context, quote_literal(left(locale, 100)) using errcode = 'ER422';
    end if;
    if time_zone is not null then
        perform errand_internal.check_time_zone(time_zone);
    end if;
end
$$;
