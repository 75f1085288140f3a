-- check_event: raises ER422 for a title, times, limits or options that no event may have.
create or replace function events.check_event(
    context text, title text, starts_at timestamptz, ends_at timestamptz, photos_each int, photos_in_all int,
    reveal_at timestamptz, keep_original boolean, qualities int4range, max_edge int, kept_days int
) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    -- In hours: a day in the session's time zone may have 23 or 25.
    if coalesce(length(title), 0) not between 1 and 200 then
        raise exception '%: title: expected 1 to 200 characters, got %',
            context, coalesce(length(title)::text, 'null') using errcode = 'ER422';
    elsif starts_at not between timestamptz '2000-01-01 00:00+00' and clock_timestamp() + interval '17544 hours' then
        raise exception '%: starts_at: expected 2000 to 2 years ahead, got %', context, starts_at
            using errcode = 'ER422';
    elsif ends_at <= starts_at or ends_at > starts_at + interval '8784 hours' then
        raise exception '%: ends_at: expected up to a year after starts_at, %, got %', context, starts_at, ends_at
            using errcode = 'ER422';
    elsif photos_each is null or photos_each not between 1 and 1000 then
        raise exception '%: photos_each: expected 1 to 1000, got %', context, coalesce(photos_each::text, 'null')
            using errcode = 'ER422';
    elsif photos_in_all is null or photos_in_all not between 1 and 20000 then
        raise exception '%: photos_in_all: expected 1 to 20000, got %', context, coalesce(photos_in_all::text, 'null')
            using errcode = 'ER422';
    elsif keep_original is null then
        raise exception '%: keep_original: expected true or false, got null', context using errcode = 'ER422';
    elsif qualities is null then
        raise exception '%: qualities: expected a range within 1 to 100, such as [50,80], got null', context
            using errcode = 'ER422';
    elsif max_edge is null or max_edge not between 16 and 16384 then
        raise exception '%: max_edge: expected 16 to 16384, got %', context, coalesce(max_edge::text, 'null')
            using errcode = 'ER422';
    elsif kept_days is null or kept_days not between 1 and 30 then
        raise exception '%: kept_days: expected 1 to 30, got %', context, coalesce(kept_days::text, 'null')
            using errcode = 'ER422';
    elsif reveal_at < starts_at then
        raise exception '%: reveal_at: expected starts_at, %, or later, got %', context, starts_at, reveal_at
            using errcode = 'ER422';
    end if;
    perform media.check_qualities(context, qualities);
    perform errand_internal.check_time(reveal_at, context, 'reveal_at');
end
$$;
