-- note_setting: notes for errand.undo what an action has changed of a setting. was is errand_internal.setting from
-- before.
create or replace function errand_internal.note_setting(action_id bigint, name text, key jsonb, was jsonb)
returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    became constant jsonb := errand_internal.setting(
        note_setting.name, note_setting.key, locks => false);
begin
    insert into errand.action_change (action_id, was_in, subject, key, was, became)
    values (
        note_setting.action_id, note_setting.name,
        coalesce(note_setting.was ->> 'subject', became ->> 'subject'), note_setting.key, note_setting.was, became);
end
$$;
