import Errand
import HTTPTypes
import Postgres

extension Operation {
    /// What the API does with jobs.
    static let ofJobs = [enqueue, read, cancel, callBack]

    private static let id = Parameter(location: .path, name: "id", schema: .id, description: "The job's id.")

    /// Why the caller changes something.
    static let reason = Parameter(
        location: .query, name: "reason", schema: .text(1...1000, .withoutNUL),
        description: "Why, for the audit and the job.")

    private static let enqueue = Operation(
        id: "enqueueJob", method: .post, path: "/v1/jobs", summary: "Enqueue a job",
        description: """
            The job is enqueued once the response comes, and runs whatever becomes of the caller's own transaction. With \
            an Idempotency-Key the call can be repeated after a failure: the same job is returned.
            """,
        parameters: [
            Parameter(
                location: .header, name: "Idempotency-Key", schema: .text(1...255, .visible),
                description: """
                    The job's unique key among those of the token. A repeated call returns the job that has it, also one \
                    that has ended while it is on record.
                    """)
        ],
        body: .newJob,
        successes: [
            Success(status: .created, description: "The job is enqueued.", schema: .enqueued, hasLocation: true),
            Success(status: .ok, description: "There is a job with this key.", schema: .enqueued, hasLocation: true),
        ],
        problems: [
            .badRequest, .forbidden, .notFound, .conflict, .contentTooLarge, .unsupportedMediaType,
            .unprocessableContent,
        ]
    ) { try await $0.jobs.enqueue($0) }

    private static let read = Operation(
        id: "readJob", method: .get, path: "/v1/jobs/{id}", summary: "See a job, or wait for its end",
        description: """
            Returns a job that was enqueued by this token. With `wait`, the response comes when the job has ended, or \
            after that time with the job as it is then.
            """,
        parameters: [
            id,
            Parameter(
                location: .query, name: "wait", schema: .text(2...3, .seconds),
                description: "How long to wait for the job's end: 0s to 60s."),
        ],
        successes: [Success(status: .ok, description: "The job.", schema: .job)],
        problems: [.badRequest, .notFound]
    ) { try await $0.jobs.read($0) }

    private static let cancel = Operation(
        id: "cancelJob", method: .delete, path: "/v1/jobs/{id}", summary: "Cancel a job",
        description: """
            A running job is told to stop, and what it does afterwards counts no more. A job that has ended stays as it \
            is: the response says how it ended.
            """,
        parameters: [id, reason],
        successes: [Success(status: .ok, description: "The job as it is now.", schema: .job)],
        problems: [.badRequest, .notFound, .unprocessableContent]
    ) { try await $0.jobs.cancel($0) }

    private static let callBack = Operation(
        id: "callBack", method: .post, path: "/v1/signals/{token}", summary: "Complete a job that was accepted",
        description: """
            For a server that has replied 202 to a job. The token came with the job in the header errand-callback and is \
            the only right needed. After an error the job is retried, or fails if that is permanent. A second call \
            changes nothing.
            """,
        needsToken: false,
        parameters: [
            Parameter(
                location: .path, name: "token", schema: .text(1...200, .visible), description: "The callback token.")
        ],
        body: .outcome,
        successes: [Success(status: .noContent, description: "The outcome is recorded.")],
        problems: [
            .badRequest, .notFound, .conflict, .contentTooLarge, .unsupportedMediaType, .unprocessableContent,
        ]
    ) { try await $0.jobs.callBack($0) }
}

extension Schema {
    private static let name = text(1...100, .name)
    static let id = integer(1...(1 << 53 - 1))
    /// A key that is stored behind the token's name.
    private static let key = text(1...400, .withoutNUL)
    /// In seconds, up to what PostgreSQL takes for a year: 360 days.
    private static let withinYear = number(0.001...31_104_000)

    /// What a job has that is enqueued now or at the end of a batch.
    static let jobFields = [
        Field(name: "kind", schema: name, description: "Which handler runs it.", isRequired: true),
        Field(name: "payload", schema: .any, description: "What the handler gets: JSON up to 256 KB. Default: {}."),
        Field(name: "queue", schema: name, description: "Default: the kind's."),
        Field(name: "priority", schema: .integer(1...4), description: "1 (first) to 4 (last). Default: the kind's."),
        Field(name: "max_attempts", schema: .integer(1...1000), description: "Default: the kind's."),
        Field(
            name: "tags", schema: .list(of: text(1...50, .withoutNUL), most: 20),
            description: "Words to find the job by."),
        Field(
            name: "subject", schema: text(1...200, .withoutNUL),
            description: "The user whose job it is: erased with that user."),
    ]

    fileprivate static let newJob = named(
        "NewJob",
        .object(
            jobFields + [
                .init(name: "run_at", schema: time, description: "The earliest start, up to 10 years from now."),
                .init(
                    name: "delay_s", schema: .number(0...315_360_000),
                    description: "The same in seconds from now. Not beside run_at."),
                .init(name: "not_after", schema: time, description: "The latest start: after it the job is obsolete."),
                .init(
                    name: "after", schema: .list(of: id, most: 1000),
                    description: "Jobs of the token that have to succeed first."),
                .init(
                    name: "if_parent_fails", schema: .choice(of: ParentFailure.self),
                    description: "What becomes of the job if one of them doesn't. Default: wait."),
                .init(name: "batch", schema: id, description: "The batch that it is in: one of the token's."),
                .init(
                    name: "order_key", schema: key,
                    description: "Jobs of the token with this key run one after the other. Not if the kind has one."),
                .init(
                    name: "if_head_fails", schema: .choice(of: HeadFailure.self),
                    description: "What a failure of the job does to those behind it. Default: block."),
                .init(
                    name: "rate_key", schema: key,
                    description: "The key of the rate that it starts under: TOKEN/KEY. Not if the kind has one."),
                .init(
                    name: "unique_key", schema: key,
                    description: "At most one unfinished job of the token has it. Not beside an Idempotency-Key."),
                .init(
                    name: "on_conflict", schema: .choice(of: Conflict.self),
                    description: "What happens if a job has the unique key. Default: keep."),
                .init(
                    name: "unique_while", schema: .choice(of: UniqueSpan.self),
                    description: "When the job has its unique key. Default: unfinished."),
                .init(
                    name: "unique_for_s", schema: withinYear,
                    description: "It has the key for so many seconds, even once it has ended."),
                .init(
                    name: "no_later_than_s", schema: withinYear,
                    description: "With reschedule: it is due at most so many seconds after its own enqueue."),
            ]))

    private static let identity = [
        Field(name: "id", schema: id, description: "The job's id.", isRequired: true),
        Field(
            name: "state", schema: text(1...20),
            description: "scheduled, available, parked or running; succeeded, failed, cancelled or obsolete.",
            isRequired: true),
    ]

    fileprivate static let enqueued = named("EnqueuedJob", .object(identity))

    fileprivate static let job = named(
        "Job",
        .object(
            identity + [
                Field(name: "kind", schema: name, description: "Which handler runs it.", isRequired: true),
                Field(name: "queue", schema: name, description: "Its queue.", isRequired: true),
                Field(
                    name: "attempt", schema: .integer(0...32_767), description: "Attempts so far.", isRequired: true),
                Field(
                    name: "max_attempts", schema: .integer(1...32_767), description: "Attempts in all.",
                    isRequired: true),
                Field(name: "created_at", schema: time, description: "When it was enqueued.", isRequired: true),
                Field(name: "run_at", schema: time, description: "The earliest start.", isRequired: true),
                Field(
                    name: "started_at", schema: .optional(time), description: "The start of its latest attempt.",
                    isRequired: true),
                Field(name: "finished_at", schema: .optional(time), description: "When it ended.", isRequired: true),
                Field(
                    name: "waiting_for", schema: .optional(text(0...10_000)), description: "Why a parked job waits.",
                    isRequired: true),
                Field(
                    name: "progress", schema: .optional(.number(0...1)), description: "As its handler says.",
                    isRequired: true),
                Field(
                    name: "message", schema: .optional(text(0...300_000)), description: "As its handler says.",
                    isRequired: true),
                Field(name: "output", schema: .any, description: "What its handler returned.", isRequired: true),
                Field(
                    name: "error", schema: .optional(text(0...300_000)),
                    description: "The last error; why it was cancelled, or became obsolete.", isRequired: true),
            ]))

    fileprivate static let outcome = named(
        "Outcome",
        .object([
            .init(name: "output", schema: .any, description: "The job's output: JSON up to 256 KB."),
            .init(
                name: "error", schema: text(1...4000, .withoutNUL),
                description: "Why it has failed. Not beside output."),
            .init(
                name: "permanent", schema: .boolean, description: "Whether it fails instead of being retried."),
        ]))
}
