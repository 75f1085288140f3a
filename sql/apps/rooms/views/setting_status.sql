-- setting_status: the options that the adapter in the Socket.IO servers must have too.
-- errand: for ops, monitor
create or replace view rooms.setting_status as
select channel_prefix, format('%I.%I', attachment_schema, attachment_table) as attachment_table from rooms.setting;
comment on view rooms.setting_status is 'One row: the options that the adapter in the Socket.IO servers must have too';
comment on column rooms.setting_status.channel_prefix is 'the adapter''s channelPrefix';
comment on column rooms.setting_status.attachment_table is 'the adapter''s tableName, for events over 7,999 bytes';
