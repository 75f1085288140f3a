/// The sides of a picture, in pixels.
package struct PixelSize: Hashable, Sendable {
    package let width: Int
    package let height: Int

    package init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
    }

    package var edge: Int { max(width, height) }

    /// The same proportions with at most `edge` pixels on the longer side, at least 1 on the other; never larger.
    package func within(_ edge: Int) -> PixelSize {
        guard self.edge > edge else { return self }
        func scaled(_ side: Int) -> Int { max(1, (side * edge + self.edge / 2) / self.edge) }
        return PixelSize(width: scaled(width), height: scaled(height))
    }
}
