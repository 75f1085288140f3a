import Testing

@testable import ImageProcess

@Suite("Rows shrunk in width") struct RowShrinkTests {
    @Test(
        "a row of one colour keeps it to its edges",
        arguments: [(2, 1), (4032, 2560), (2561, 2560), (8000, 2001), (7, 5)])
    func even(from: Int, to: Int) {
        let colour: [UInt8] = [0, 77, 255]
        let row = (0..<from).flatMap { _ in colour }
        #expect(shrunk(row, to: to) == (0..<to).flatMap { _ in colour })
    }

    @Test("a slope stays one: each pixel has the value of its middle")
    func slope() {
        let (from, to) = (1_000, 400)
        let row = (0..<from).flatMap { pixel -> [UInt8] in
            let value = UInt8(pixel / 4)
            return [value, 250 - value, 9]
        }
        let result = shrunk(row, to: to)
        // Away from the edges, where half of the window is a repeated pixel.
        for pixel in 10..<to - 10 {
            let expected = ((Double(pixel) + 0.5) * 2.5 - 0.5) / 4
            #expect(abs(Double(result[3 * pixel]) - expected) <= 1)
            #expect(abs(Double(result[3 * pixel + 1]) - (250 - expected)) <= 1)
            #expect(result[3 * pixel + 2] == 9)
        }
    }

    @Test("overshoot beyond black and white at an edge is clamped, and doesn't wrap around")
    func edge() {
        let row = grey((0..<300).map { $0 < 150 ? 0 : 255 })
        let result = shrunk(row, to: 200)
        #expect(result[..<285].allSatisfy { $0 < 30 })
        #expect(result[315...].allSatisfy { $0 > 225 })
    }

    @Test("stripes finer than the result has pixels become even")
    func stripes() {
        let row = grey((0..<800).map { $0.isMultiple(of: 2) ? 0 : 255 })
        let result = shrunk(row, to: 300)
        #expect(result[30..<870].allSatisfy { (118...137).contains($0) })
    }

    private func grey(_ values: [UInt8]) -> [UInt8] { values.flatMap { [UInt8](repeating: $0, count: 3) } }

    private func shrunk(_ row: [UInt8], to: Int) -> [UInt8] {
        var shrink = RowShrink(from: row.count / 3, to: to)
        var result = [UInt8](repeating: 1, count: 3 * to)
        shrink.shrink(row, into: &result)
        return result
    }
}
