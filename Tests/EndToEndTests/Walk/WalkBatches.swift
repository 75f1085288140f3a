// Batches, of which any session may add jobs to any other's.
extension WalkGenerator {
    /// Some stay open for other transactions, which add jobs and close them. Maintenance enqueues the callbacks.
    mutating func enqueueBatch() -> WalkOperation {
        let jobs = (0..<number(1..<6)).map { _ in
            content += 1
            let fails = number(0..<8) == 0 ? ", \"fail\": \"transient\"" : ""
            return "{\"kind\": \"noop\", \"max_attempts\": 2, "
                + "\"payload\": {\"content\": \(content), \"sleep_ms\": \(pick([0, 5, 80]))\(fails)}}"
        }
        let closes = number(0..<3) > 0 ? "errand.batch_close(opened.id)" : "true"
        return WalkOperation(
            name: "enqueue_batch",
            results: """
                (with opened as materialized (
                    select errand.batch_open(
                        'walk', on_success => '{"kind": "noop"}', on_finish => '{"kind": "noop"}',
                        on_failure => '{"kind": "noop"}') as id
                ),
                filled as materialized (
                    select jsonb_agg(jsonb_build_object('id', job_id, 'now', state)) as results
                    from opened
                    cross join lateral errand.enqueue_many((
                        select jsonb_agg(job || jsonb_build_object('batch', opened.id))
                        from jsonb_array_elements('[\(jobs.joined(separator: ","))]') as job))
                )
                select results from filled cross join opened where \(closes))
                """)
    }

    mutating func changeBatch() -> WalkOperation {
        let any = "(select id from errand.batch order by md5(id::text || '\(number(0..<1000))') limit 1)"
        switch number(0..<4) {
        case 0: return only("cancel_batch", "errand.batch_cancel(\(any), 'walk') as done")
        case 1: return only("retry_batch", "errand.batch_retry(\(any), 'walk') as done")
        default:
            return only(
                "close_batch",
                "(select errand.batch_close(id) from errand.batch where closed_at is null order by id limit 2) as done")
        }
    }
}
