-- authors: the authors of quotes that are in the rotation.
-- errand: for enqueuer, ops, monitor
create or replace view quotes.authors as
select author, count(*) as quotes from quotes.quote where retired_at is null group by author;
comment on view quotes.authors is 'The authors of quotes that are in the rotation';
comment on column quotes.authors.author is 'the author''s name';
comment on column quotes.authors.quotes is 'number of their quotes';
