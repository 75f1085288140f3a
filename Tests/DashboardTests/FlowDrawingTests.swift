import Testing

@testable import Dashboard

@Suite("The drawing of a flow") struct FlowDrawingTests {
    private static func job(_ id: Int, after: [Int] = [], kind: String? = "noop", state: String? = "parked") -> FlowRow
    {
        FlowRow(distance: id == 1 ? 0 : 1, id: id, kind: kind, queue: "default", state: state, after: after)
    }

    @Test("each job is right of all that it waits for, and no two overlap")
    func layers() throws {
        let rows = [
            Self.job(1), Self.job(2, after: [1]), Self.job(3, after: [1]), Self.job(4, after: [3]),
            Self.job(5, after: [2, 4, 1]), Self.job(6),
        ]
        let graph = FlowGraph(rows.reversed(), of: 1)
        let byID = Dictionary(uniqueKeysWithValues: graph.nodes.map { ($0.id, $0) })
        #expect(graph.nodes.count == 6 && graph.edges.count == 6)
        for row in rows {
            let node = try #require(byID[row.id])
            for parent in row.after { #expect(try #require(byID[parent]).x < node.x, "\(parent) to \(row.id)") }
            #expect(node.x >= 0 && node.x + graph.boxWidth <= graph.width)
            #expect(node.y >= 0 && node.y + graph.boxHeight <= graph.height)
            #expect(node.isOwn == (row.id == 1))
        }
        for one in graph.nodes {
            for other in graph.nodes where one.id < other.id {
                #expect(one.x != other.x || abs(one.y - other.y) > graph.boxHeight, "\(one.id) and \(other.id)")
            }
        }
    }

    @Test("jobs stand in the order of those that they wait for, so that straight flows have no crossings")
    func order() {
        // The second of each row comes after the second one of the row before.
        let rows = [
            Self.job(1), Self.job(2), Self.job(3), Self.job(4, after: [3]), Self.job(5, after: [2]),
            Self.job(6, after: [1]),
        ]
        let graph = FlowGraph(rows, of: 1)
        let heights = Dictionary(uniqueKeysWithValues: graph.nodes.map { ($0.id, $0.y) })
        for (parent, child) in [(1, 6), (2, 5), (3, 4)] { #expect(heights[parent] == heights[child]) }
    }

    @Test("a label says what the drawing shows, also of a job that is no longer on record")
    func labels() {
        let long = String(repeating: "k", count: 95)
        let rows = [
            Self.job(1, kind: nil, state: nil), Self.job(2, kind: long, state: "failed"), Self.job(3, after: [1, 2]),
        ]
        let graph = FlowGraph(rows, of: 1)
        #expect(
            graph.nodes.map(\.label) == [
                "job 1, not on record, this job", "job 2, \(long), failed", "job 3, noop, parked, waits for 1 and 2",
            ])
        #expect(graph.nodes.map(\.state.tone) == ["quiet", "bad", "held"])
        #expect(graph.nodes[1].shortKind.count == 24 && graph.nodes[1].shortKind.hasSuffix("…"))
    }

    @Test("a job that names itself or a younger one is drawn all the same")
    func wrong() {
        let graph = FlowGraph([Self.job(1, after: [1, 2]), Self.job(2, after: [1])], of: 1)
        #expect(graph.nodes.count == 2 && graph.edges.count == 1)
    }
}
