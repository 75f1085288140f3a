-- 0001_rooms: events for Socket.IO rooms, sent by NOTIFY.
--
-- Why     An event is sent in the transaction that it is about, and arrives only if that commits.
-- Locks   Nothing: all objects are new.
-- Before  No version was released before this one.
create schema rooms;
comment on schema rooms is
    'Events for Socket.IO rooms: sent by the API servers and by other apps, delivered by @socket.io/postgres-adapter';
insert into errand.app (name) values ('rooms');

create table rooms.setting (
    is_only boolean not null default true,
    channel_prefix text not null default 'socket.io',
    attachment_schema text not null default 'public',
    attachment_table text not null default 'socket_io_attachments',
    constraint setting_pkey primary key (is_only),
    constraint setting_once check (is_only),
    constraint setting_channel_prefix check (octet_length(channel_prefix) between 1 and 61)
);
comment on table rooms.setting is 'One row: the options of the adapter in the Socket.IO servers';
comment on column rooms.setting.is_only is 'true: allows one row';
comment on column rooms.setting.channel_prefix is 'the adapter''s option channelPrefix';
comment on column rooms.setting.attachment_schema is 'the schema of the table for large events';
comment on column rooms.setting.attachment_table is 'the table for large events: the adapter''s option tableName';
insert into rooms.setting default values;
