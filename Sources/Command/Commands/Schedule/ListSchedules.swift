import ArgumentParser
import Foundation
import Listings
import Postgres

struct ListSchedules: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show all schedules: last tick, next tick and problems.",
        discussion: "Reads the view errand.schedules. Times are in UTC.")

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.schedules.query()) }
    var none: String { "there are no schedules" }

    static let table = [
        Column("NAME", \.name), Column("CRON", \.cron), Column("ZONE", \.time_zone),
        Column("LAST TICK", isWhole: true) { $0.last_tick.map(inSeconds) }, Column("OUTCOME", \.last_outcome),
        Column("NEXT TICK", isWhole: true) { $0.next_tick.map(inSeconds) }, trouble,
    ]
    private static let trouble = Column("") { row in
        row.problem ?? row.paused_at.map { _ in "paused: \(row.paused_reason ?? "no reason given")" }
    }
}

struct ScheduleTicks: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "ticks",
        abstract: "Show the last ticks of a schedule with their outcomes.",
        discussion: "Reads the view errand.schedule_ticks, which holds a week. The newest comes first.")

    @OptionGroup var schedule: ScheduleName
    @OptionGroup var most: RowCount
    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.ticks.query(where: "schedule = $1", limit: "$2"), [schedule.name, most.count]) }
    var none: String { "no tick of '\(schedule.name.printable)' is on record" }

    static let table = [
        Column("TICK (UTC)", isWhole: true) { $0.tick.map(inSeconds) },
        Column("LOCAL", isWhole: true) { $0.local.map { String($0.prefix(19)) } }, Column("OUTCOME", \.outcome),
        Column("JOB", isWhole: true, \.job_id),
        Column("LATE BY") { $0.lateness_seconds.flatMap(Double.init).map { String(format: "%.3f s", $0) } },
        Column("REASON", \.reason),
    ]
}
