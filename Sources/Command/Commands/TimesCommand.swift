import ArgumentParser
import Postgres

struct TimesCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "times",
        abstract: "Show what ran within a time, by kind: how it ended, and how long it waited and ran.",
        discussion: """
            errand times --since 2h
            errand times --since 2026-11-22T02:00:00Z --until 2026-11-22T04:00:00Z

            Calls errand.kind_times. Counts are by whole minutes, and stay for a week. Times are in milliseconds.
            """)

    @Option(help: "Since then: 2h before now, or 2026-11-22T02:00:00Z. Default: 1h.", transform: Since.init(argument:))
    var since: Since?

    @Option(help: "Until then. Default: now.", transform: Since.init(argument:))
    var until: Since?

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select kind, succeeded, failed, retried, cancelled, wait_p95_ms, run_p50_ms, run_p95_ms
            from errand.kind_times(
                coalesce($1, now() + $2 * interval '1 microsecond', now() - interval '1 hour'),
                coalesce($3, now() + $4 * interval '1 microsecond', now()))
            order by succeeded + failed + retried + cancelled desc, kind
            """, Since.parameters(since) + Since.parameters(until))
    }
    var none: String { "nothing ended within that time" }

    static let table = [
        Column("KIND", \.kind), Column("DONE", \.succeeded), Column("FAILED", \.failed), Column("RETRIED", \.retried),
        Column("CANCELLED", \.cancelled), milliseconds("WAIT P95", \.wait_p95_ms),
        milliseconds("RUN P50", \.run_p50_ms), milliseconds("RUN P95", \.run_p95_ms),
    ]
}

struct CompareCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Show how slow each kind is now against earlier, the slowest first.",
        discussion: """
            errand compare                          # the last hour, against the same hour of yesterday
            errand compare --span 10m --back 10m    # since the deploy ten minutes ago, against the time before
            errand errors --since 10m               # its errors, likewise

            Calls errand.compare_kinds. Times are the 95th percentile, in milliseconds.
            """)

    @Option(help: "How long a time.", transform: Span.init(argument:))
    var span: Span?

    @Option(help: "How much earlier the time before was; less than 7d.", transform: Span.init(argument:))
    var back: Span?

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select kind, succeeded, succeeded_before, run_p95_ms, run_p95_ms_before, change_percent
            from errand.compare_kinds(
                coalesce($1 * interval '1 microsecond', interval '1 hour'),
                coalesce($2 * interval '1 microsecond', interval '1 day'))
            """, [span?.microseconds, back?.microseconds])
    }
    var none: String { "nothing ended within either time" }

    static let table = [
        Column("KIND", \.kind), Column("DONE", \.succeeded), Column("BEFORE", \.succeeded_before),
        milliseconds("RUN P95", \.run_p95_ms), milliseconds("BEFORE", \.run_p95_ms_before),
        Column("CHANGE") { row in row.change_percent.map { ($0.hasPrefix("-") ? "" : "+") + $0 + " %" } },
    ]
}
