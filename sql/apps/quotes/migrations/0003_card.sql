-- 0003_card: quotes as images.
--
-- Why     Users share a quote as an image. Each card is drawn once, when somebody first asks for it.
-- Locks   quotes.quote, for milliseconds.
-- Before  No version was released before this one.
-- errand: needs media, rooms
alter table quotes.quote add column cards uuid not null default gen_random_uuid();
comment on column quotes.quote.cards is
    'the folder of its cards in the object store, below cards/: another one after each correction';

create table quotes.card (
    id uuid not null default gen_random_uuid(),
    requested_at timestamptz not null default clock_timestamp(),
    drawn_at timestamptz,
    job_id bigint,
    quote_id int not null,
    bytes int,
    width int,
    height int,
    template text not null,
    appearance text not null,
    format text not null,
    key text not null,
    error text,
    constraint card_pkey primary key (id),
    constraint card_once unique (quote_id, template, appearance, format),
    constraint card_key unique (key),
    constraint card_of_quote foreign key (quote_id) references quotes.quote (id),
    constraint card_template check (template in ('paper', 'sky', 'blossom', 'slate')),
    constraint card_appearance check (appearance in ('light', 'dark')),
    constraint card_format check (format in ('square', 'story', 'wide'))
);
comment on table quotes.card is 'One row for each card that was asked for, until its quote is corrected';
comment on column quotes.card.id is 'the card''s id';
comment on column quotes.card.requested_at is 'when it was first asked for';
comment on column quotes.card.drawn_at is 'when it was drawn; null until then';
comment on column quotes.card.job_id is 'the job that draws it';
comment on column quotes.card.quote_id is 'its quote';
comment on column quotes.card.bytes is 'size of the image';
comment on column quotes.card.width is 'width of the image, in pixels';
comment on column quotes.card.height is 'height of the image, in pixels';
comment on column quotes.card.template is 'its look: paper, sky, blossom or slate';
comment on column quotes.card.appearance is 'light or dark';
comment on column quotes.card.format is 'its sides: square, story or wide';
comment on column quotes.card.key is 'its key in the object store';
comment on column quotes.card.error is 'why it can''t be drawn: a stable code, a colon, and details';
