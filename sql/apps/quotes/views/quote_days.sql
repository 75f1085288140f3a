-- quote_days: the quotes of the stored days: past ones, today's in every time zone, and 7 ahead.
-- errand: for enqueuer, ops, monitor
create or replace view quotes.quote_days as
select day, quote_id, text, author, source, category, written_at
from quotes.day
join quotes.quote on quote.id = quote_id;
comment on view quotes.quote_days is 'The quote of each calendar day: past ones, today''s and the next 7';
comment on column quotes.quote_days.day is 'the calendar day';
comment on column quotes.quote_days.quote_id is 'the quote''s id';
comment on column quotes.quote_days.text is 'its text';
comment on column quotes.quote_days.author is 'its author';
comment on column quotes.quote_days.source is 'where it is from';
comment on column quotes.quote_days.category is 'Motivation, Love, Success, Wisdom, Humor, or another one';
comment on column quotes.quote_days.written_at is 'when the day was stored';
