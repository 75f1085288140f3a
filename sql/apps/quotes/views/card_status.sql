-- card_status: the cards of quotes, and whether their images are in the object store.
-- errand: for enqueuer, ops, monitor
create or replace view quotes.card_status as
select
    card.id, card.quote_id, card.template, card.appearance, card.format,
    case
        when upload.delivered_at is not null then 'stored'
        when card.error is not null then 'failed'
        else 'drawing'
    end as state,
    card.key, card.bytes, card.width, card.height, card.requested_at, card.drawn_at,
    upload.delivered_at as stored_at, card.job_id, card.error
from quotes.card
left join media.upload on upload.key = card.key;
comment on view quotes.card_status is 'The cards of quotes, and whether their images are in the object store';
comment on column quotes.card_status.id is 'the card''s id';
comment on column quotes.card_status.quote_id is 'its quote';
comment on column quotes.card_status.template is 'its look: paper, sky, blossom or slate';
comment on column quotes.card_status.appearance is 'light or dark';
comment on column quotes.card_status.format is 'its sides: square, story or wide';
comment on column quotes.card_status.state is 'drawing, stored or failed';
comment on column quotes.card_status.key is 'its key in the object store';
comment on column quotes.card_status.bytes is 'size of the image';
comment on column quotes.card_status.width is 'width of the image, in pixels';
comment on column quotes.card_status.height is 'height of the image, in pixels';
comment on column quotes.card_status.requested_at is 'when it was first asked for';
comment on column quotes.card_status.drawn_at is 'when it was drawn';
comment on column quotes.card_status.stored_at is 'when the object store had it';
comment on column quotes.card_status.job_id is 'the job that draws it';
comment on column quotes.card_status.error is 'why it can''t be drawn';
