-- report_unknown: raises a notice for a queue or kind in a filter that no job, kind or worker has named so far, with
-- similar names. A call by a filter that matches nothing does so: a mistyped name matches nothing either.
create or replace function errand_internal.report_unknown(action text, choice errand.job_choice) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    kinds text[];
    queues constant text[] := case when choice.queue is not null then errand_internal.known_queues() end;
begin
    if choice.kind is not null then
        kinds := errand_internal.known_kinds();
        if choice.kind <> all (kinds) then
            raise notice '%: no job and no worker has named the kind %', action, quote_literal(left(choice.kind, 100))
                using hint = coalesce(
                    'Is it ' || array_to_string(errand_internal.nearest(choice.kind, kinds, 3), ' or ') || '?',
                    'No kind is known yet.');
        end if;
    end if;
    if choice.queue <> all (queues) then
        raise notice '%: no job and no worker has named the queue %', action, quote_literal(left(choice.queue, 100))
            using hint = format('Is it %s?', array_to_string(errand_internal.nearest(choice.queue, queues, 3), ' or '));
    end if;
end
$$;
