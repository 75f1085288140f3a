import Foundation

/// A flow as a drawing: each job is right of all that it waits for.
struct FlowGraph {
    struct Node {
        let id: Int
        let x: Int
        let y: Int
        let kind: String
        /// The kind, as long as there is room for it.
        let shortKind: String
        let state: JobState
        let isOwn: Bool
        /// What is read aloud: `job 17, send_mail, parked, waits for 15 and 16`.
        let label: String
    }

    struct Edge {
        /// The `d` of a path.
        let path: String
    }

    let nodes: [Node]
    let edges: [Edge]
    let width: Int
    let height: Int
    let boxWidth = Self.box.width
    let boxHeight = Self.box.height

    private static let box = (width: 208, height: 50)
    private static let gap = (x: 64, y: 16)
    /// Around the drawing, for the outline of what has the focus.
    private static let margin = 6
    private static let kindLength = 24

    /// - Parameter id: the job whose flow it is.
    init(_ rows: [FlowRow], of id: Int) {
        let layers = Self.layers(rows)
        let tallest = layers.map(\.count).max() ?? 0
        let step = (x: Self.box.width + Self.gap.x, y: Self.box.height + Self.gap.y)
        width = layers.count * step.x - Self.gap.x + 2 * Self.margin
        height = tallest * step.y - Self.gap.y + 2 * Self.margin
        var nodes: [Node] = []
        for (layer, jobs) in layers.enumerated() {
            let top = Self.margin + (tallest - jobs.count) * step.y / 2
            for (index, row) in jobs.enumerated() {
                nodes.append(
                    Self.node(row, x: Self.margin + layer * step.x, y: top + index * step.y, isOwn: row.id == id))
            }
        }
        let byID = Dictionary(nodes.map { ($0.id, $0) }) { first, _ in first }
        edges = rows.flatMap { row in
            row.after.compactMap { parent in
                guard let from = byID[parent], let to = byID[row.id], from.x < to.x else { return nil }
                return Self.edge(from, to)
            }
        }
        self.nodes = nodes
    }

    /// Jobs by the length of the longest way to them, each near the middle of those that it waits for. A job waits for
    /// older ones only, so all of them come before it.
    private static func layers(_ rows: [FlowRow]) -> [[FlowRow]] {
        var depths: [Int: Int] = [:]
        var layers: [[FlowRow]] = []
        for row in rows.sorted(by: { $0.id < $1.id }) {
            let depth = row.after.compactMap { depths[$0] }.max().map { $0 + 1 } ?? 0
            depths[row.id] = depth
            while layers.count <= depth { layers.append([]) }
            layers[depth].append(row)
        }
        var heights: [Int: Double] = [:]
        for depth in layers.indices {
            let placed = layers[depth].map { row in
                let above = row.after.compactMap { heights[$0] }
                return (row: row, middle: above.isEmpty ? 0 : above.reduce(0, +) / Double(above.count))
            }.sorted { ($0.middle, $0.row.id) < ($1.middle, $1.row.id) }
            layers[depth] = placed.map(\.row)
            for (index, row) in layers[depth].enumerated() {
                heights[row.id] = Double(index) - Double(layers[depth].count - 1) / 2
            }
        }
        return layers
    }

    private static func node(_ row: FlowRow, x: Int, y: Int, isOwn: Bool) -> Node {
        let kind = row.kind ?? ""
        let state = JobState(row.state ?? JobState.gone)
        let waits = row.after.isEmpty ? nil : "waits for " + row.after.map { "\($0)" }.joined(separator: " and ")
        let label = ["job \(row.id)", kind, state.name, waits, isOwn ? "this job" : nil]
        return Node(
            id: row.id, x: x, y: y, kind: kind,
            shortKind: kind.count > kindLength ? kind.prefix(kindLength - 1) + "…" : kind, state: state, isOwn: isOwn,
            label: label.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", "))
    }

    private static func edge(_ from: Node, _ to: Node) -> Edge {
        let start = (x: from.x + box.width, y: from.y + box.height / 2)
        let end = (x: to.x - 2, y: to.y + box.height / 2)
        let bend = start.x + gap.x / 2
        let back = end.x - gap.x / 2
        return Edge(path: "M\(start.x) \(start.y)C\(bend) \(start.y) \(back) \(end.y) \(end.x) \(end.y)")
    }
}
