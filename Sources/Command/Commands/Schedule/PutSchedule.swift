import ArgumentParser
import Foundation
import Postgres

struct PutSchedule: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Create a schedule or change it, from its next tick on.",
        discussion: """
            errand schedule put nightly '0 3 * * *' report '{"pages": 2}' --time-zone Europe/Paris
            errand schedule put expiry 'every 30 s' invite_expiry --missed skip
            errand schedule put digest '0 8 * * MON' digest --overlap skip --jitter 10m --tag weekly

            Calls errand.put_schedule, and prints created, changed or unchanged. `errand schedule preview --cron` shows \
            the ticks before. What isn't given gets its default, also for a schedule that exists.
            """)

    @Argument(help: "The schedule's name.", completion: .schedules)
    var name: String

    @Argument(help: "A cron expression of five or six fields, @daily and the like, or 'every 30 s'.")
    var cron: String

    @Argument(help: "The kind of its jobs.", completion: .kinds)
    var kind: String

    @Argument(help: "What the handler gets, as JSON.")
    var payload = "{}"

    @Option(help: "The time zone of its clock, as an IANA name.")
    var timeZone = "UTC"

    @Option(
        help: "What becomes of missed ticks: skip, latest (one job) or all.",
        completion: .list(["skip", "latest", "all"]))
    var missed = "latest"

    @Option(help: "The queue of its jobs. Default: the kind's.", completion: .queues)
    var queue: String?

    @Option(help: "A tick that is later than this was missed, such as 90s or 10m.")
    var maxLateness = "1m"

    @Option(help: "With --missed all: how many of the newest missed ticks are enqueued.")
    var maxCatchUp = 100

    @Option(
        help:
            "What a tick does while an earlier job is unfinished: allow, skip (no job) or replace (cancels that one).",
        completion: .list(["allow", "skip", "replace"]))
    var overlap = "allow"

    @Option(help: "Each job starts within this time after its tick, such as 10m; at most 1d.")
    var jitter: String?

    @Option(help: "No tick before this time, such as 2026-12-01T00:00:00Z.")
    var startsAt: String?

    @Option(help: "No tick from this time on.")
    var endsAt: String?

    @Option(help: "The priority of its jobs, 1 (first) to 4. Default: the kind's.")
    var priority: Int?

    @Option(name: .customLong("tag"), help: "A tag of its jobs. May be given again.")
    var tags: [String] = []

    @Option(help: "The limit of its jobs. Default: the kind's.")
    var limit: String?

    @Option(help: "The user whose jobs they are: an erasure drops the schedule.")
    var user: String?

    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "schedule") }

    func validate() throws {
        try checkJSON(payload)
        if let jitter, Duration(setting: jitter, atLeast: .zero) == nil {
            throw ValidationError("--jitter: expected a duration such as 10m, got '\(jitter.printable)'")
        }
        for (option, text) in [("--starts-at", startsAt), ("--ends-at", endsAt)] where text != nil && time(text) == nil
        {
            throw ValidationError(
                "\(option): expected a time such as 2026-12-01T00:00:00Z, got '\((text ?? "").printable)'")
        }
        guard Duration(setting: maxLateness, atLeast: .seconds(1)) != nil else {
            throw ValidationError("--max-lateness: expected a duration of at least 1s, got '\(maxLateness.printable)'")
        }
    }

    func act(on connection: Connection) async throws -> Done {
        let lateness = Duration(setting: maxLateness) ?? .seconds(60)
        return Done(
            try await connection.call(
                """
                errand.put_schedule(
                    $1, $2, $3, $4, $5, $6, $7, $8 * interval '1 microsecond', $9::int4, $10::int4, $11, $12, $13, $14,
                    $15 * interval '1 microsecond', $16, $17)
                """,
                [
                    name, cron, kind, JSONB(payload), timeZone, missed, queue, lateness.wholeMicroseconds, maxCatchUp,
                    priority, tags, limit, user, overlap, jitter.flatMap { Duration(setting: $0) }?.wholeMicroseconds,
                    time(startsAt), time(endsAt),
                ]))
    }

    private func time(_ text: String?) -> Timestamp? {
        text.flatMap { try? Date($0, strategy: .iso8601) }.map { Timestamp($0) }
    }
}
