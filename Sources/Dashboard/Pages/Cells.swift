import Foundation
import Postgres
import Web

/// All cells at a glance.
struct Cells {
    struct Row: Decodable {
        let waiting: Int
        let running: Int
        let failed: Int
        let oldestDueAt: Moment?
        let ended: Int
        let workers: Int
        let isEstimate: Bool
    }

    struct Cell {
        let name: String
        let path: String
        let isDown: Bool
        let waiting: String
        let isEstimate: Bool
        let running: String
        let failed: String
        let oldest: ShownTime?
        let ended: String
        let workers: String
        let hasNoWorker: Bool
    }

    let cells: [Cell]
    let down: Int
}

extension Dashboard {
    /// How long a cell is waited for, so that one that hangs doesn't hide the others.
    private static let cellTimeout: Duration = .seconds(2)

    /// The overview of several cells, which are read concurrently.
    func overview(of cells: [Dashboard], _ visit: Visit) async -> Reply {
        let rows = await withTaskGroup(of: (Int, Cells.Cell).self) { group in
            for (index, cell) in cells.enumerated() { group.addTask { (index, await cell.summary(for: visit.caller)) } }
            return await group.reduce(into: [Int: Cells.Cell]()) { $0[$1.0] = $1.1 }
        }
        let shown = cells.indices.compactMap { rows[$0] }
        var layout = Layout(title: "Cells", section: "Cells", caller: visit.caller, dashboard: self)
        layout.isLive = true
        layout.time = ShownTime(Moment(.now), now: .now)
        let page = Cells(cells: shown, down: shown.count(where: \.isDown))
        return .html(templates.render("cells", PageView(layout: layout, page: page)))
    }

    /// The figures of this cell.
    private func summary(for caller: Caller) async -> Cells.Cell {
        let read = await within(Self.cellTimeout) { try? await self.row(for: caller) } ?? nil
        let row = read?.row
        return Cells.Cell(
            name: scope.cell ?? "", path: scope.base + "/", isDown: row == nil,
            waiting: Amount.count(row?.waiting ?? 0),
            isEstimate: row?.isEstimate ?? false, running: Amount.count(row?.running ?? 0),
            failed: Amount.count(row?.failed ?? 0), oldest: read.flatMap { ShownTime($0.row.oldestDueAt, now: $0.now) },
            ended: Amount.count(row?.ended ?? 0), workers: Amount.count(row?.workers ?? 0),
            hasNoWorker: row?.workers == 0)
    }

    private func row(for caller: Caller) async throws -> (row: Cells.Row, now: Date)? {
        let results = try await store.read(
            as: caller,
            [
                Query(
                    """
                    select coalesce(sum(waiting), 0) as waiting, coalesce(sum(running), 0) as running,
                        coalesce(sum(failed), 0) as failed, min(oldest_due_at) as oldest_due_at,
                        coalesce(sum(succeeded_5_min + failed_5_min + retried_5_min), 0) as ended,
                        (select count(*) from errand.workers where not is_lost) as workers,
                        coalesce(bool_or(is_estimate), false) as is_estimate
                    from errand.queues
                    """)
            ])
        return try results.rows(0, of: Cells.Row.self).first.map { ($0, results.now) }
    }
}
