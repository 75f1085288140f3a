-- 0002_code: QR codes of links to an event.
--
-- Why     A host shows or prints the link to join. Each code is drawn once, when it is first asked for.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create table events.code (
    id uuid not null default gen_random_uuid(),
    requested_at timestamptz not null default clock_timestamp(),
    drawn_at timestamptz,
    job_id bigint,
    event_id uuid not null,
    bytes int,
    key text not null,
    link text not null,
    error text,
    constraint code_pkey primary key (id),
    constraint code_once unique (event_id, link),
    constraint code_key unique (key),
    constraint code_of_event foreign key (event_id) references events.event (id) on delete cascade,
    -- A purge removes what is below the event's folder.
    constraint code_below_event check (starts_with(key, 'events/' || event_id::text || '/')),
    constraint code_link check (length(link) between 1 and 1000)
);
comment on table events.code is 'One row for each QR code of an event that was asked for';
comment on column events.code.id is 'the code''s id';
comment on column events.code.requested_at is 'when it was first asked for';
comment on column events.code.drawn_at is 'when it was drawn; null until then';
comment on column events.code.job_id is 'the job that draws it';
comment on column events.code.event_id is 'the event';
comment on column events.code.bytes is 'size of the image';
comment on column events.code.key is 'its key in the object store: below events/, the event''s id and a slash';
comment on column events.code.link is 'the link that it holds';
comment on column events.code.error is 'why it can''t be drawn: a stable code, a colon, and details';
