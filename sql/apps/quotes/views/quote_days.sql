-- quote_days: the quotes of the days that are written: those that were, today's everywhere on Earth, and 7 ahead.
create or replace view quotes.quote_days as
select day, quote_id, text, author, source, category, written_at
from quotes.day
join quotes.quote on quote.id = quote_id;
comment on view quotes.quote_days is 'The quote of each calendar day, past ones, today''s and the next 7';
comment on column quotes.quote_days.day is 'the calendar day';
comment on column quotes.quote_days.quote_id is 'names the quote';
comment on column quotes.quote_days.text is 'what is shown';
comment on column quotes.quote_days.author is 'who said or wrote it';
comment on column quotes.quote_days.source is 'where it stands';
comment on column quotes.quote_days.category is 'Motivation, Love, Success, Wisdom, Humor, or another one';
comment on column quotes.quote_days.written_at is 'when the day was written';
