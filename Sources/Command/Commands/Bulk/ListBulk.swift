import ArgumentParser
import Foundation
import Listings
import Postgres

struct ListBulk: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show bulk actions, the newest first, and how far they are.",
        discussion: "Reads the view errand.bulk_status. Times are in UTC.")

    @OptionGroup var most: RowCount
    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.bulks.query(limit: "$1"), [most.count]) }
    var none: String { "no bulk action is on record" }

    static let table = [
        Column("ID", \.id), Column("ACTION", \.action), Column("STATE", \.state),
        Column("DONE") { "\(Int(100 * BulkProgress.share($0))) %" }, Column("JOBS", \.changed),
        Column("REQUESTED") { $0.requested_at.map(inSeconds) }, Column("BY", \.requested_by),
        Column("FILTER", \.filter), Column("REASON", \.reason),
    ]
}

struct WatchBulk: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a bulk action until it is done, with a progress bar on a terminal.",
        discussion: "Exits with 0 if it was done, and with 1 if it was stopped.")

    @Argument(help: "Its number, as `errand bulk list` shows it.")
    var id: Int64

    @Flag(help: "Print its last line as a JSON object.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            try await BulkProgress.follow(id, asJSON: json, on: connection)
        }
    }
}

/// How far a bulk action is.
enum BulkProgress {
    static func share(_ bulk: Fields) -> Double { bulk.progress.flatMap(Double.init) ?? 0 }

    /// Shows a progress bar until it is done or stopped, then a line.
    ///
    /// - Throws: ``Failure`` for an unknown one, and if it was stopped.
    static func follow(_ id: Int64, asJSON: Bool, on connection: Connection) async throws {
        let bar = ProgressBar()
        defer { bar.end() }
        while true {
            guard
                let now = try await Fields.read(Query(Listing.bulks.query(where: "id = $1"), [id]), on: connection)
                    .first
            else { throw Failure(code: Failure.failed, "there is no bulk action \(id) (any more)") }
            let (state, jobs) = (now.state ?? "", "\(now.changed ?? "0") jobs")
            if state == "done" || state == "stopped" {
                bar.end()
                print(asJSON ? now.json : "bulk \(id): \(state), \(jobs)")
                if state == "stopped" { throw ExitCode(Failure.failed) }
                return
            }
            bar.show(
                share(now), "\(now.action ?? ""): \(state == "waiting" ? "waits for a worker or scheduler" : jobs)")
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}
