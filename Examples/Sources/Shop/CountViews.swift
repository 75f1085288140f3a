import Errand

/// A page of the shop was looked at.
public struct CountView: Job {
    public static let kind: JobKind = "count_view"
    public let page: String

    public init(page: String) { self.page = page }
}

/// Adds up the views of a page, up to a hundred in one statement.
public struct CountViewHandler: ChunkHandler {
    public let chunk = Chunk<CountView>(100, within: .milliseconds(200), by: { $0.page })
    let add: @Sendable (Int, String) async throws -> Void

    public init(add: @escaping @Sendable (_ views: Int, _ page: String) async throws -> Void) { self.add = add }

    public func run(_ jobs: [ChunkJob<CountView>]) async throws -> [Outcome] {
        try await add(jobs.count, jobs[0].job.page)
        return jobs.map { _ in .done }
    }
}
