-- quote_status: all quotes, and when each was and will be shown, as far as that is written.
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
comment on view quotes.quote_status is 'All quotes, and when each was and will be shown';
comment on column quotes.quote_status.id is 'names the quote';
comment on column quotes.quote_status.category is 'Motivation, Love, Success, Wisdom, Humor, or another one';
comment on column quotes.quote_status.text is 'what is shown';
comment on column quotes.quote_status.author is 'who said or wrote it';
comment on column quotes.quote_status.source is 'where it stands';
comment on column quotes.quote_status.added_at is 'when it came';
comment on column quotes.quote_status.retired_at is 'when it was taken out of the rotation; null while it is in';
comment on column quotes.quote_status.last_day is 'the last day on which it was shown, up to today in UTC';
comment on column quotes.quote_status.next_day is 'the next one that is written, from tomorrow on';
