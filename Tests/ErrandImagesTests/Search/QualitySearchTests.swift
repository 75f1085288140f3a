import ErrandImages
import Testing

@Suite("Searching the quality") struct QualitySearchTests {
    /// The bytes of a simulated encoder: rising with quality, and not exactly as expected.
    private static func bytes(_ quality: Int, detail: Double) -> Int {
        Int(detail * 40_000_000 / (Double(200 - 2 * quality) + 12) + Double(quality * quality % 7) * 300)
    }

    private func search(
        limit: Int, qualities: ClosedRange<Int>, forecast: [Int: Double]? = nil, encode: (Int) -> Int
    ) -> (found: Int?, encodes: Int) {
        var search = QualitySearch(limit: limit, qualities: qualities, forecast: forecast)
        for encodes in 0...100 {
            switch search.step {
            case .encode(let quality): search.record(quality: quality, bytes: encode(quality))
            case .keep(let quality): return (quality, encodes)
            case .doesNotFit: return (nil, encodes)
            }
        }
        return (nil, .max)
    }

    @Test("the result is below the limit, and the next quality would be too close to it", arguments: 1...60)
    func best(step: Int) {
        let detail = Double(step) / 40
        let (found, encodes) = search(limit: 500_000, qualities: 50...95) { Self.bytes($0, detail: detail) }
        if let found {
            #expect(Self.bytes(found, detail: detail) < 500_000)
            #expect(found == 95 || Self.bytes(found + 1, detail: detail) > 485_000)
        } else {
            #expect(Self.bytes(50, detail: detail) >= 500_000)
        }
        #expect(encodes <= 5)
    }

    @Test("a forecast that is a tenth off still needs two encodes at most", arguments: [0.9, 0.95, 1, 1.05, 1.1])
    func forecast(factor: Double) {
        let forecast = Dictionary(
            uniqueKeysWithValues: (50...95).map { ($0, factor * Double(Self.bytes($0, detail: 0.6))) })
        let (found, encodes) = search(limit: 500_000, qualities: 50...95, forecast: forecast) {
            Self.bytes($0, detail: 0.6)
        }
        let best = (50...95).last { Self.bytes($0, detail: 0.6) < 500_000 }
        #expect(abs((found ?? 0) - (best ?? 0)) <= 1)
        #expect(encodes <= 2)
    }

    @Test("a forecast far above the limit is believed without an encode")
    func hopeless() {
        let forecast = Dictionary(uniqueKeysWithValues: (72...95).map { ($0, 50.0 * Double($0)) })
        let (found, encodes) = search(limit: 1_000, qualities: 72...95, forecast: forecast) { _ in 5_000 }
        #expect(found == nil)
        #expect(encodes == 0)
    }

    @Test("exactly the limit is too much")
    func strictlyBelow() {
        #expect(search(limit: 500, qualities: 80...81) { $0 == 81 ? 500 : 499 }.found == 80)
        #expect(search(limit: 500, qualities: 80...80) { _ in 500 }.found == nil)
    }

    @Test("the search ends with any encoder", arguments: [[1, 900, 2, 800], [900, 1], [499, 501], [0]])
    func nonsense(replies: [Int]) {
        var calls = 0
        let (_, encodes) = search(limit: 500, qualities: 1...100) { _ in
            calls += 1
            return replies[calls % replies.count]
        }
        #expect(encodes <= 100)
    }
}

@Suite("The ladder of sizes") struct SizeLadderTests {
    @Test("sizes are 2560, 2048, 1600, 1280 and smaller, with lower quality from 1600 on")
    func steps() {
        let rungs = Array(SizeLadder(from: 2_560, qualities: 72...95))
        #expect(rungs.prefix(5).map(\.edge) == [2_560, 2_048, 1_600, 1_280, 1_024])
        #expect(rungs.prefix(3).map(\.qualities.lowerBound) == [72, 72, 50])
        #expect(rungs.last?.edge == 16)
    }

    @Test("a small picture starts at its own size", arguments: [1, 16, 17, 300, 1_600])
    func small(edge: Int) {
        #expect(Array(SizeLadder(from: edge, qualities: 72...95)).first?.edge == edge)
    }
}
