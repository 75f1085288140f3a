/// The sizes to try, from the largest down, and how far quality may fall at each before the next one is taken.
///
/// Measured at equal bytes: below a quality of about 72, a smaller picture looks better than a coarser one, down to
/// 1,600 pixels; from there on quality gives way first, because the screens of phones show the difference in pixels.
package struct SizeLadder: Sequence, Sendable {
    package struct Rung: Equatable, Sendable {
        /// Pixels on the longer side.
        package let edge: Int
        package let qualities: ClosedRange<Int>
    }

    let start: Int
    let qualities: ClosedRange<Int>

    /// - Parameter start: the longer side of the picture as it was decoded.
    package init(from start: Int, qualities: ClosedRange<Int>) {
        self.start = start
        self.qualities = qualities
    }

    package func makeIterator() -> AnyIterator<Rung> {
        var next: Int? = start
        return AnyIterator {
            guard let edge = next else { return nil }
            next = below(edge)
            return Rung(edge: edge, qualities: floor(at: edge)...qualities.upperBound)
        }
    }

    private func below(_ edge: Int) -> Int? {
        if let step = [2_048, 1_600, 1_280].first(where: { $0 < edge }) { return step }
        return edge <= 16 ? nil : Swift.max(16, edge * 4 / 5)
    }

    private func floor(at edge: Int) -> Int {
        switch edge {
        case 1_601...: qualities.lowerBound
        case 321...1_600: Swift.min(qualities.lowerBound, 50)
        default: Swift.min(qualities.lowerBound, 10)
        }
    }
}
