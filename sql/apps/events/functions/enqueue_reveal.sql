-- enqueue_reveal: enqueues the job that tells the participants of the reveal, or moves it to that time.
--
-- The job comes before others of its queue. A running one stays as it is: it checks the time when it has locked the
-- event, and moves itself.
create or replace function events.enqueue_reveal(event_id uuid, run_at timestamptz) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    perform errand.enqueue(
        'event_reveal', jsonb_build_object('event', enqueue_reveal.event_id),
        -- What is due in the midst of the transaction is due at once.
        run_at => case when enqueue_reveal.run_at <= clock_timestamp() then now() else enqueue_reveal.run_at end,
        priority => 1, unique_key => 'event_reveal/' || enqueue_reveal.event_id, on_conflict => 'reschedule');
end
$$;
