-- categories: the categories of quotes that are in the rotation.
-- errand: for enqueuer, ops, monitor
create or replace view quotes.categories as
select category, count(*) as quotes from quotes.quote where retired_at is null group by category;
comment on view quotes.categories is 'The categories of quotes that are in the rotation';
comment on column quotes.categories.category is 'Motivation, Love, Success, Wisdom, Humor, or another one';
comment on column quotes.categories.quotes is 'number of its quotes';
