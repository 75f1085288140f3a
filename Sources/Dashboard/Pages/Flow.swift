import Foundation
import Postgres

/// A job of a flow, as `errand.flow_of` returns it.
struct FlowRow: Decodable {
    let distance: Int
    let id: Int
    let kind: String?
    let queue: String?
    let state: String?
    let after: [Int]
}

/// A job of a flow, in a list or a row.
struct FlowJob {
    let id: Int
    let kind: String
    let queue: String
    let state: JobState
    /// `2 steps before`, `this job`.
    let distance: String
    /// The first of the jobs of the flow that it waits for, and how many more there are.
    let after: [Int]
    let moreAfter: String?
    let isOwn: Bool

    private static let mostAfter = 8

    init(_ row: FlowRow) {
        id = row.id
        kind = row.kind ?? ""
        queue = row.queue ?? ""
        state = JobState(row.state ?? JobState.gone)
        isOwn = row.distance == 0
        let steps = abs(row.distance) == 1 ? "1 step" : "\(abs(row.distance)) steps"
        distance = isOwn ? "this job" : steps + (row.distance < 0 ? " before" : " behind")
        after = Array(row.after.prefix(Self.mostAfter))
        moreAfter = row.after.count > Self.mostAfter ? Amount.count(row.after.count - Self.mostAfter) : nil
    }
}

/// What a job waits for and what waits for it, without those in between.
struct JobFlow {
    /// In each of the lists.
    static let mostJobs = 50

    let parents: [FlowJob]
    let hasParents: Bool
    let parentsTitle: String
    /// What becomes of the job if one of them fails.
    let ifParentFails: String
    let children: [FlowJob]
    let hasChildren: Bool
    let childrenTitle: String
    let isFlow: Bool

    init(_ rows: [FlowRow], parents: Int, ifParentFails: String?) {
        let before = rows.filter { $0.distance < 0 }
        let behind = rows.filter { $0.distance > 0 }
        self.parents = before.suffix(Self.mostJobs).map { FlowJob($0) }
        children = behind.prefix(Self.mostJobs).map { FlowJob($0) }
        hasParents = !before.isEmpty
        hasChildren = !behind.isEmpty
        isFlow = hasParents || hasChildren
        let isCut = before.count < parents || before.count > Self.mostJobs
        parentsTitle = isCut ? "Waits for \(Amount.count(parents)) jobs, the newest of them" : "Waits for"
        // Of those that are read, each direction has at least a quarter.
        let isMore = behind.count > Self.mostJobs || rows.count > 2 * Self.mostJobs && behind.count > Self.mostJobs / 3
        childrenTitle = isMore ? "Jobs that wait for it, the first of them" : "Jobs that wait for it"
        self.ifParentFails =
            switch ifParentFails {
            case "go_on": "If one fails, it goes on."
            case "cancel": "If one fails, it is cancelled."
            default: "If one fails, it waits until that one is retried."
            }
    }
}

/// The flow of a job: a drawing of some dozens, a table of some hundreds.
struct FlowPage {
    /// In the drawing.
    static let mostDrawn = 40
    /// In the table.
    static let mostJobs = 200

    let id: Int
    let jobs: [FlowJob]
    let count: String
    let isAlone: Bool
    let graph: FlowGraph?
    let isCut: Bool
    let isTooLarge: Bool

    init(_ rows: [FlowRow], of id: Int) {
        self.id = id
        isCut = rows.count > Self.mostJobs
        let shown = rows.prefix(Self.mostJobs)
        jobs = shown.map { FlowJob($0) }
        count = isCut ? "The nearest \(Amount.count(Self.mostJobs)) jobs" : "\(Amount.count(shown.count)) jobs"
        isAlone = rows.count == 1
        isTooLarge = rows.count > Self.mostDrawn
        graph = isAlone || isTooLarge ? nil : FlowGraph(rows, of: id)
    }
}

extension Dashboard {
    func flow(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let results = try await store.read(
            as: visit.caller, [Query("select * from errand.flow_of($1, $2)", [id, Int32(FlowPage.mostJobs + 1)])])
        let rows = try results.rows(0, of: FlowRow.self)
        guard !rows.isEmpty else { throw Problem.noJob(id) }
        let isUnfinished = rows.contains {
            ["scheduled", "available", "parked", "running"].contains($0.state)
        }
        return page(
            "flow", "Flow of job \(id)", section: "Jobs", visit, results, isLive: isUnfinished,
            FlowPage(rows, of: Int(id)))
    }
}
