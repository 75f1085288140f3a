import CVips

#if canImport(Glibc)
import Glibc
#endif

/// Shrinks rows of pixels of three bytes in width, by the kernel of Lanczos with three lobes, as libvips does it.
///
/// libvips shrinks columns by vectors and rows pixel by pixel, which took a third of a photo's time. This takes a third
/// of that, and computes in 32-bit floats where libvips has 12 bits for a weight.
struct RowShrink {
    let from: Int
    let to: Int
    /// Pixels of the source that a pixel of the result is made of.
    private let taps: Int
    /// `taps` for each pixel of the result, their sum 1.
    private var weights: [Float] = []
    /// The first pixel of each window.
    private var starts: [Int] = []
    private var scratch: [SIMD4<Float>]

    /// - Parameters:
    ///   - from: pixels of a row.
    ///   - to: pixels of a row of the result, at most `from`.
    init(from: Int, to: Int) {
        let factor = Double(from) / Double(to)
        let reach = 3 * factor
        self.from = from
        self.to = to
        taps = Int((2 * reach).rounded(.up))
        scratch = [SIMD4<Float>](repeating: .zero, count: from + 2 * taps)
        starts.reserveCapacity(to)
        weights.reserveCapacity(to * taps)
        for pixel in 0..<to {
            // Where the middle of the pixel lies on the source.
            let middle = (Double(pixel) + 0.5) * factor - 0.5
            let start = Int((middle - reach).rounded(.up))
            let window = (0..<taps).map { Self.lanczos((Double(start + $0) - middle) / factor) }
            let sum = window.reduce(0, +)
            starts.append(start)
            weights += window.map { Float($0 / sum) }
        }
    }

    /// Shrinks one row.
    ///
    /// - Parameters:
    ///   - row: three bytes for each of the `from` pixels.
    ///   - result: room for three bytes for each of the `to` pixels.
    mutating func shrink(_ row: UnsafePointer<UInt8>, into result: UnsafeMutablePointer<UInt8>) {
        let (from, to, taps) = (from, to, taps)
        weights.withUnsafeBufferPointer { weights in
            starts.withUnsafeBufferPointer { starts in
                scratch.withUnsafeMutableBytes { scratch in
                    var shrink = PixelShrink(
                        from: from, to: to, taps: taps, weights: weights.baseAddress, starts: starts.baseAddress)
                    pixels_shrink_row(&shrink, row, result, scratch.baseAddress)
                }
            }
        }
    }

    /// The kernel: `sinc(x) * sinc(x / 3)` between -3 and 3.
    private static func lanczos(_ x: Double) -> Double {
        guard x != 0 else { return 1 }
        guard abs(x) < 3 else { return 0 }
        let angle = Double.pi * x
        return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
    }
}
