import Testing

@testable import ErrandImages

@Suite("Admission") struct AdmissionTests {
    private enum Move {
        case small(Int), big(Int), smallLeaves(Int), bigLeaves(Int), givesUp(Int)
    }

    /// The numbers of the callers that each move admits; for a timeout, 1 if the caller was still waiting.
    private func replay(permits: Int, _ moves: [Move]) -> [[Int]] {
        var admission = Admission(permits: permits)
        return moves.map { move in
            switch move {
            case .small(let number):
                admission.request(.init(number: number, needsMuchMemory: false)) ? [number] : []
            case .big(let number):
                admission.request(.init(number: number, needsMuchMemory: true)) ? [number] : []
            case .smallLeaves(let number):
                admission.release(.init(number: number, needsMuchMemory: false)).map(\.number)
            case .bigLeaves(let number):
                admission.release(.init(number: number, needsMuchMemory: true)).map(\.number)
            case .givesUp(let number):
                admission.cancelWait(number) ? [1] : []
            }
        }
    }

    @Test("a permit is granted in order of arrival when all are taken")
    func request() {
        let entries = replay(permits: 1, [.small(1), .small(2), .small(3), .smallLeaves(1), .smallLeaves(2)])
        #expect(entries == [[1], [], [], [2], [3]])
    }

    @Test("two photos that need much memory never run together, and block no other photo")
    func memory() {
        let entries = replay(permits: 2, [.big(1), .big(2), .small(3), .smallLeaves(3), .bigLeaves(1)])
        #expect(entries == [[1], [], [3], [], [2]])
    }

    @Test("a cancelled permit is never granted")
    func givingUp() {
        let entries = replay(permits: 1, [.small(1), .small(2), .givesUp(2), .givesUp(1), .smallLeaves(1), .small(3)])
        #expect(entries == [[1], [], [1], [], [], [3]])
    }

    @Test("a HEIC of 48 megapixels and a progressive JPEG of 60 need much, a usual photo doesn't")
    func demand() throws {
        let ispe = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0x1F, 0x40, 0, 0, 0x17, 0x70]
        let heic = [0, 0, 0, 0x18] + Array("ftypheic".utf8) + [UInt8](repeating: 0, count: 40) + ispe
        #expect(MemoryDemand.bytes(for: heic) == 480_000_000)
        #expect(try MemoryDemand.bytes(for: Samples.bytes(Samples.dune)) < MemoryDemand.much)
        #expect(try MemoryDemand.bytes(for: Samples.bytes(Samples.elephants)) == 4 * 5_640 * 3_172)
    }
}
