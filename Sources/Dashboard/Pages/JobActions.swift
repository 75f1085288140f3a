import Postgres

/// What the forms of a job's page do.
extension Dashboard {
    func changeJob(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let reason = visit.form["reason"]
        let action = visit.form["action"] ?? ""
        var done = action
        switch action {
        case "retry":
            let changed = try await act(
                visit,
                "select (was is distinct from now or was = 'scheduled')::text from errand.retry_job($1, $2)",
                [id, reason])
            if changed != "true" { done = "unchanged" }
        case "cancel", "discard":
            let changed = try await act(
                visit, "select (was is distinct from now)::text from errand.\(action)_job($1, $2)", [id, reason])
            if changed != "true" { done = "unchanged" }
        case "approve":
            let changed = try await act(
                visit, Self.approval, [id, reason, visit.form["payload"] ?? "{}", visit.form.whole("signal")])
            if changed != "true" { done = "unchanged" }
        case "reschedule":
            let changed = try await act(
                visit,
                """
                select (was in ('scheduled', 'available', 'parked'))::text
                from errand.reschedule_job($1, $4, $2::text::timestamptz, $3::text::int)
                """, [id, Self.time(visit.form["run_at"]), visit.form["priority"], reason])
            if changed != "true" { done = "unchanged" }
        case "edit", "edit-retry":
            let edit = Statement(Self.edit, [id, visit.form["payload"] ?? "", reason])
            let retry = Statement("select now from errand.retry_job($1, $2)", [id, reason])
            try await act(visit, action == "edit" ? [edit] : [edit, retry])
        default: throw Problem.notFound
        }
        return .redirect("/jobs/\(id)?done=\(done)")
    }

    /// A job that waits for another signal by now stays as it is.
    private static let approval = """
        select (was is distinct from now)::text
        from errand.jobs as existing
        cross join lateral errand.approve_job(existing.id, $2, $3::text::jsonb)
        where existing.id = $1 and existing.parked_for = 'signal:' || $4
        """

    /// A value that the page has masked stays what it was.
    private static let edit = """
        select errand.edit_job(
            $1,
            errand.restore_secrets(
                $2::text::jsonb,
                (
                    select payload
                    from errand.jobs
                    where id = $1
                    order by finished_at desc nulls first
                    limit 1)),
            $3)
        """
}
