-- export_person: returns the moments that a user has sent and that exist. For people.export.
create or replace function moments.export_person(user_id text) returns jsonb
language sql stable set search_path = pg_catalog, moments, pg_temp as $$
    select coalesce(jsonb_build_object('moments', jsonb_agg(to_jsonb(sent) order by number)), '{}')
    from (
        select existing.id as moment_id, existing.pair_id, existing.number, existing.sent_at, existing.current_at
        from pairing.pair
        join moments.moment as existing on existing.pair_id = pair.id
        where (pair.inviter = export_person.user_id or pair.invitee = export_person.user_id)
            and existing.sender = export_person.user_id
    ) as sent
    having count(*) > 0
    union all
    select '{}'
    limit 1
$$;
