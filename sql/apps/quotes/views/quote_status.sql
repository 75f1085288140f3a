-- quote_status: all quotes, with the last and the next day of each, as far as they are stored.
-- errand: for ops, monitor
create or replace view quotes.quote_status as
select
    id, category, text, author, source, added_at, retired_at,
    (
        select max(day) from quotes.day where quote_id = quote.id and day <= (now() at time zone 'UTC')::date
    ) as last_day,
    (
        select min(day) from quotes.day where quote_id = quote.id and day > (now() at time zone 'UTC')::date
    ) as next_day
from quotes.quote;
comment on view quotes.quote_status is 'All quotes, with the last and the next day of each';
comment on column quotes.quote_status.id is 'the quote''s id';
comment on column quotes.quote_status.category is 'Motivation, Love, Success, Wisdom, Humor, or another one';
comment on column quotes.quote_status.text is 'its text';
comment on column quotes.quote_status.author is 'its author';
comment on column quotes.quote_status.source is 'where it is from';
comment on column quotes.quote_status.added_at is 'when it was added';
comment on column quotes.quote_status.retired_at is 'when it was retired; null = it is in the rotation';
comment on column quotes.quote_status.last_day is 'the last day on which it was shown, up to today in UTC';
comment on column quotes.quote_status.next_day is 'the next stored day, from tomorrow on';
