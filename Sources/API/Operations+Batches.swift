import HTTPTypes

extension Operation {
    /// What the API does with batches of jobs.
    static let ofBatches = [open, status, close, cancel, retry]

    private static let id = Parameter(location: .path, name: "id", schema: .id, description: "The batch's id.")

    private static let open = Operation(
        id: "openBatch", method: .post, path: "/v1/batches", summary: "Open a batch of jobs",
        description: """
            Jobs that are enqueued with its id as `batch` are its jobs. It ends once it is closed and all of them have \
            ended. Each callback is enqueued once at most. A repeated call opens another batch.
            """,
        body: .newBatch,
        successes: [Success(status: .created, description: "The batch is open.", schema: .opened, hasLocation: true)],
        problems: [.badRequest, .forbidden, .contentTooLarge, .unsupportedMediaType, .unprocessableContent]
    ) { try await $0.jobs.openBatch($0) }

    private static let status = Operation(
        id: "readBatch", method: .get, path: "/v1/batches/{id}", summary: "See how far a batch is",
        description: "Returns a batch that was opened by this token. Each of its unfinished jobs is counted.",
        parameters: [id], successes: [Success(status: .ok, description: "The batch.", schema: .batch)],
        problems: [.badRequest, .notFound]
    ) { try await $0.jobs.readBatch($0) }

    private static let close = Operation(
        id: "closeBatch", method: .post, path: "/v1/batches/{id}/close", summary: "Say that a batch is complete",
        description: """
            It ends once none of its jobs is left. Until then jobs may still be added. Closing it again changes nothing.
            """,
        parameters: [id], successes: [changed], problems: [.badRequest, .notFound]
    ) { try await $0.jobs.change("close", $0) }

    private static let cancel = Operation(
        id: "cancelBatch", method: .delete, path: "/v1/batches/{id}", summary: "Cancel the jobs of a batch",
        description: """
            Closes it and cancels those of its jobs that have not ended, 10,000 in a call: repeat it until `changed` \
            is 0.
            """,
        parameters: [id, reason], successes: [changed], problems: [.badRequest, .notFound, .unprocessableContent]
    ) { try await $0.jobs.change("cancel", $0, reason: "cancelled by HTTP") }

    private static let retry = Operation(
        id: "retryBatch", method: .post, path: "/v1/batches/{id}/retry", summary: "Retry the jobs of a batch",
        description: """
            Those that have failed or were cancelled, 10,000 in a call: repeat it until `changed` is 0. After the \
            batch's end its callbacks are not enqueued again.
            """,
        parameters: [id, reason], successes: [changed],
        problems: [.badRequest, .notFound, .conflict, .unprocessableContent]
    ) { try await $0.jobs.change("retry", $0, reason: "retried by HTTP") }

    private static let changed = Success(status: .ok, description: "The batch as it is now.", schema: .changedBatch)
}

extension Schema {
    private static let callback = named("BatchCallback", .object(jobFields))
    private static let name = text(1...200, .withoutNUL)
    private static let state = Field(
        name: "state", schema: .choice(["open", "closed", "ended"]), description: "Where it is.", isRequired: true)
    private static let identity = Field(name: "id", schema: id, description: "The batch's id.", isRequired: true)

    fileprivate static let newBatch = named(
        "NewBatch",
        .object([
            .init(name: "name", schema: name, description: "What it is called; need not be unique.", isRequired: true),
            .init(
                name: "on_success", schema: callback,
                description: "The job that is enqueued when all of its jobs have succeeded."),
            .init(name: "on_finish", schema: callback, description: "The job that is enqueued when all have ended."),
            .init(
                name: "on_failure", schema: callback,
                description: "The job that is enqueued when the first one has not succeeded."),
            .init(
                name: "properties", schema: .any,
                description: "An object of up to 16 KB that callbacks get in their payload."),
        ]))

    fileprivate static let opened = named("OpenedBatch", .object([identity, state]))

    private static let status =
        [identity, state, Field(name: "name", schema: name, description: "What it is called.", isRequired: true)]
        + [
            ("total", "All of its jobs so far."), ("waiting", "Those that have not ended."),
            ("succeeded", "Those that have succeeded."), ("failed", "Those that have failed."),
            ("cancelled", "Those that were cancelled or discarded."), ("obsolete", "Those that became obsolete."),
        ].map { Field(name: $0, schema: .integer(0...(1 << 53 - 1)), description: $1, isRequired: true) }
        + [
            Field(
                name: "progress", schema: .optional(.number(0...1)), description: "The part that has ended.",
                isRequired: true),
            Field(
                name: "outcome", schema: .optional(.choice(["succeeded", "failed"])),
                description: "How it was at its end.", isRequired: true),
            Field(name: "opened_at", schema: time, description: "When it was opened.", isRequired: true),
            Field(
                name: "closed_at", schema: .optional(time), description: "When it was closed.", isRequired: true),
            Field(name: "ended_at", schema: .optional(time), description: "When it ended.", isRequired: true),
            Field(
                name: "success_job_id", schema: .optional(id), description: "The job of on_success.",
                isRequired: true),
            Field(
                name: "finish_job_id", schema: .optional(id), description: "The job of on_finish.", isRequired: true),
            Field(
                name: "failure_job_id", schema: .optional(id), description: "The job of on_failure.",
                isRequired: true),
            Field(name: "properties", schema: .any, description: "As they were given.", isRequired: true),
        ]

    fileprivate static let batch = named("Batch", .object(status))

    fileprivate static let changedBatch = named(
        "ChangedBatch",
        .object(
            status + [
                Field(
                    name: "changed", schema: .integer(0...10_000), description: "Jobs that this call has changed.",
                    isRequired: true)
            ]))
}
