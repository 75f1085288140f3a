import FoundationEssentials

#if canImport(Glibc)
import Glibc
#endif

/// Estimates the bytes of a JPEG at any quality, from a sample of the picture's blocks and without encoding it.
///
/// It does the work of an encoder for 1,200 units of 16 × 16 pixels: colour transform, cosine transform, quantization,
/// and then counts the symbols that Huffman coding would write; their entropy is what optimized tables come close to.
/// Measured on 100 photographs: 1.4 encodes a photo are enough with it.
package struct JPEGForecast: Sendable {
    /// Coefficients of the sampled blocks in zigzag order, 64 a block; the first is the difference to the block before.
    private var luma: [Float] = []
    private var chroma: [Float] = []
    /// How many units of 16 × 16 pixels the picture has for each that was sampled.
    private let scale: Double

    /// - Parameters:
    ///   - pixels: three bytes each, row by row, without gaps.
    ///   - samples: the maximum number of sampled units of 16 × 16 pixels.
    ///   - hasFullChroma: whether colour is kept at every pixel, or halved in both directions.
    package init(
        pixels: UnsafeBufferPointer<UInt8>, width: Int, height: Int, hasFullChroma: Bool = false, samples: Int = 1_200
    ) {
        let columns = (width + 15) / 16
        let rows = (height + 15) / 16
        let picture = Picture(pixels: pixels, width: width, height: height, hasFullChroma: hasFullChroma)
        // Evenly over the picture, with a step that shares no factor with the columns, so that no stripe is preferred.
        let step = max(1, columns * rows / samples)
        let corners = [(0, 0), (8, 0), (0, 8), (8, 8)]
        let edge = hasFullChroma ? 8 : 0
        var transform = CosineTransform()
        var taken = 0
        luma.reserveCapacity(64 * 4 * samples)
        chroma.reserveCapacity(64 * 2 * samples)
        var row = 0
        var carry = 0
        while row < rows {
            var column = carry
            while column < columns {
                let unit = picture.unit(column: column, row: row)
                let before = picture.unit(column: max(0, column - 1), row: row)
                var lastLuma = transform.mean(before.luma, at: 8, 8, stride: 16)
                for (x, y) in corners {
                    let mean = transform.append(unit.luma, at: x, y, stride: 16, to: &luma)
                    luma[luma.count - 64] = mean - lastLuma
                    lastLuma = mean
                }
                for (plane, planeBefore) in [(unit.blue, before.blue), (unit.red, before.red)] {
                    var last = transform.mean(planeBefore, at: edge, edge, stride: edge + 8)
                    for (x, y) in corners.prefix(hasFullChroma ? 4 : 1) {
                        let mean = transform.append(plane, at: x, y, stride: edge + 8, to: &chroma)
                        chroma[chroma.count - 64] = mean - last
                        last = mean
                    }
                }
                taken += 1
                column += step
            }
            carry = column - columns
            while carry >= columns {
                carry -= columns
                row += 1
            }
            row += 1
        }
        scale = Double(columns * rows) / Double(max(1, taken))
    }

    /// Bytes of a progressive JPEG with optimized tables, within about a twentieth.
    package func bytes(quality: Int) -> Double {
        let bits =
            SymbolCount.bits(of: luma, table: QuantizationTable.luma(quality))
            + SymbolCount.bits(of: chroma, table: QuantizationTable.chroma(quality))
        return 600 + bits / 8 * scale * Self.progressiveSaving
    }

    /// The estimate for every quality of a range: computed at every fifth, and interpolated in between.
    package func curve(_ qualities: ClosedRange<Int>) -> [Int: Double] {
        var curve: [Int: Double] = [:]
        var low = qualities.lowerBound
        curve[low] = bytes(quality: low)
        while low < qualities.upperBound {
            let high = min(low + 5, qualities.upperBound)
            let (from, to) = (log(curve[low, default: 1]), log(bytes(quality: high)))
            for quality in low + 1...high {
                curve[quality] = exp(from + (to - from) * Double(quality - low) / Double(high - low))
            }
            low = high
        }
        return curve
    }

    /// What progressive scans save over the entropy of a baseline scan, on the average of photographs.
    private static let progressiveSaving = 0.98
}

// MARK: - Pixels
/// Takes units of 16 × 16 pixels out of a picture, in the colours of JPEG; beyond the edges the last pixel repeats.
private struct Picture {
    let pixels: UnsafeBufferPointer<UInt8>
    let width: Int
    let height: Int
    let hasFullChroma: Bool

    struct Unit {
        var luma: [Float]
        var blue: [Float]
        var red: [Float]
    }

    func unit(column: Int, row: Int) -> Unit {
        let samples = hasFullChroma ? 256 : 64
        var unit = Unit(
            luma: [Float](repeating: 0, count: 256), blue: [Float](repeating: 0, count: samples),
            red: [Float](repeating: 0, count: samples))
        unit.luma.withUnsafeMutableBufferPointer { luma in
            unit.blue.withUnsafeMutableBufferPointer { blue in
                unit.red.withUnsafeMutableBufferPointer { red in
                    fill(luma, blue, red, column: column, row: row)
                }
            }
        }
        return unit
    }

    // Here and below, pointers and `while`: a debug build takes tens of times as long for arrays and ranges.
    private func fill(
        _ luma: UnsafeMutableBufferPointer<Float>, _ blue: UnsafeMutableBufferPointer<Float>,
        _ red: UnsafeMutableBufferPointer<Float>, column: Int, row: Int
    ) {
        let (shift, share) = hasFullChroma ? (0, Float(1)) : (1, 0.25)
        var y = 0
        while y < 16 {
            let down = row * 16 + y
            let line = (down < height ? down : height - 1) * width
            var x = 0
            while x < 16 {
                let right = column * 16 + x
                let at = (line + (right < width ? right : width - 1)) * 3
                let r = Float(pixels[at])
                let g = Float(pixels[at + 1])
                let b = Float(pixels[at + 2])
                let index = (y >> shift) * (16 >> shift) + (x >> shift)
                luma[y * 16 + x] = 0.299 * r + 0.587 * g + 0.114 * b - 128
                blue[index] += (-0.168736 * r - 0.331264 * g + 0.5 * b) * share
                red[index] += (0.5 * r - 0.418688 * g - 0.081312 * b) * share
                x += 1
            }
            y += 1
        }
    }
}

/// The discrete cosine transform of blocks of 8 × 8, scaled as JPEG scales it.
private struct CosineTransform {
    /// `basis[frequency * 8 + index]`.
    private let basis: [Float]
    /// `rows[frequency * 8 + line]`: the transformed lines of a block.
    private var rows = [Float](repeating: 0, count: 64)

    init() {
        basis = (0..<64).map { index in
            let (frequency, offset) = (Double(index / 8), Double(index % 8))
            return Float(
                (frequency == 0 ? 0.5.squareRoot() : 1) * 0.5 * cos((2 * offset + 1) * frequency * Double.pi / 16))
        }
    }

    /// Eight times the mean of a block, which is what its first coefficient is.
    func mean(_ plane: [Float], at x: Int, _ y: Int, stride: Int) -> Float {
        plane.withUnsafeBufferPointer { plane in
            var sum: Float = 0
            var index = 0
            while index < 64 {
                sum += plane[(y + index >> 3) * stride + x + index & 7]
                index += 1
            }
            return sum / 8
        }
    }

    /// Appends the 64 coefficients of a block in zigzag order, and returns the first.
    mutating func append(_ plane: [Float], at x: Int, _ y: Int, stride: Int, to list: inout [Float]) -> Float {
        let first = list.count
        plane.withUnsafeBufferPointer { plane in
            basis.withUnsafeBufferPointer { basis in
                rows.withUnsafeMutableBufferPointer { rows in
                    var index = 0
                    while index < 64 {
                        let line = plane.baseAddress! + (y + index & 7) * stride + x
                        rows[index] = Self.product(line, basis.baseAddress! + index & ~7)
                        index += 1
                    }
                    zigzag.withUnsafeBufferPointer { order in
                        index = 0
                        while index < 64 {
                            let (vertical, horizontal) = (order[index] & ~7, order[index] & 7)
                            list.append(
                                Self.product(
                                    UnsafePointer(rows.baseAddress! + horizontal * 8), basis.baseAddress! + vertical))
                            index += 1
                        }
                    }
                }
            }
        }
        return list[first]
    }

    /// The sum of eight products.
    @inline(__always)
    private static func product(_ one: UnsafePointer<Float>, _ other: UnsafePointer<Float>) -> Float {
        var sum = one[0] * other[0]
        sum += one[1] * other[1]
        sum += one[2] * other[2]
        sum += one[3] * other[3]
        sum += one[4] * other[4]
        sum += one[5] * other[5]
        sum += one[6] * other[6]
        return sum + one[7] * other[7]
    }
}

/// The indices of a block from low to high frequency, in JPEG's order.
private let zigzag: [Int] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21,
    28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47,
    55,
    62, 63,
]

// MARK: - Symbols
/// The bits that Huffman coding with tables of its own would take.
private enum SymbolCount {
    static func bits(of coefficients: [Float], table: [Float]) -> Double {
        // Symbols of the first coefficients: how many bits the difference has.
        // Of the others: how many zeros come before, times 16, and how many bits the value has.
        var first = [Int](repeating: 0, count: 16)
        var others = [Int](repeating: 0, count: 256)
        var extra = 0
        coefficients.withUnsafeBufferPointer { values in
            table.withUnsafeBufferPointer { divisors in
                var block = 0
                while block < values.count {
                    let difference = magnitude(values[block], divisors[0])
                    first[difference] += 1
                    extra += difference
                    var run = 0
                    var index = 1
                    while index < 64 {
                        let size = magnitude(values[block + index], divisors[index])
                        if size == 0 {
                            run += 1
                        } else {
                            while run > 15 {
                                others[0xF0] += 1
                                run -= 16
                            }
                            others[run << 4 | size] += 1
                            extra += size
                            run = 0
                        }
                        index += 1
                    }
                    if run > 0 { others[0] += 1 }
                    block += 64
                }
            }
        }
        return Double(extra) + entropy(first) + entropy(others)
    }

    /// How many bits the quantized value has, 0 for zero.
    @inline(__always)
    private static func magnitude(_ value: Float, _ divisor: Float) -> Int {
        let quantized = Int32(value.magnitude * divisor + 0.5)
        let bits = 32 - quantized.leadingZeroBitCount
        return bits < 15 ? bits : 15
    }

    private static func entropy(_ counts: [Int]) -> Double {
        let total = Double(counts.reduce(0, +))
        return counts.reduce(0) { bits, count in count == 0 ? bits : bits + Double(count) * log2(total / Double(count))
        }
    }
}

// MARK: - Quantization
/// The tables that libjpeg makes of a quality, each value as its reciprocal, in zigzag order.
private enum QuantizationTable {
    static func luma(_ quality: Int) -> [Float] { scaled(lumaBase, quality) }
    static func chroma(_ quality: Int) -> [Float] { scaled(chromaBase, quality) }

    private static func scaled(_ base: [Int], _ quality: Int) -> [Float] {
        let scale = quality < 50 ? 5_000 / max(1, quality) : 200 - 2 * quality
        return zigzag.map { 1 / Float(min(255, max(1, (base[$0] * scale + 50) / 100))) }
    }

    private static let lumaBase = [
        16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29,
        51, 87,
        80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
        72, 92,
        95, 98, 112, 100, 103, 99,
    ]

    private static let chromaBase: [Int] = {
        var table = [Int](repeating: 99, count: 64)
        for (row, values) in [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56], [47, 66]].enumerated() {
            for (column, value) in values.enumerated() { table[row * 8 + column] = value }
        }
        return table
    }()
}
