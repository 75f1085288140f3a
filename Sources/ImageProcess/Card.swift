import ErrandImages

/// A card, laid out: the text in the largest size that fits, the author below it, all within the margins.
struct Card {
    /// Sizes of the text, in pixels.
    static let sizes = 18...96
    /// A word that is wider than the card in this size is broken, so that one long word doesn't make all of them small.
    static let smallestWhole = 40

    let request: CardRequest
    let style: CardStyle
    let size: PixelSize
    private let font: String

    init(_ request: CardRequest) {
        self.request = request
        style = CardStyle(request.template, request.appearance)
        size = request.format.size
        font = style.font(for: request.text + request.author)
    }

    /// The margin on each side: a tenth of the shorter one.
    var margin: Int { min(size.width, size.height) / 10 }

    /// The sides within the margins.
    var width: Int { size.width - 2 * margin }
    var height: Int { size.height - 2 * margin }

    /// The file of the card. Its report names it as its own source.
    func encoded(as request: ImageRequest) throws(ImageError) -> (ImageReport, [UInt8]) {
        try self.request.check()
        try request.check()
        var card = try draw()
        if size.edge > request.maxEdge { card = try card.shrunk(to: size.within(request.maxEdge)) }
        let encoded = try Encoding(request: request).run(card, of: size)
        let bytes = encoded.bytes
        let report = ImageReport(
            bytes: bytes.count, width: encoded.size.width, height: encoded.size.height, quality: encoded.quality,
            encodes: encoded.encodes, milliseconds: 0, format: request.format, sourceFormat: try ImageFormat(of: bytes),
            sourceWidth: size.width, sourceHeight: size.height, sourceBytes: bytes.count)
        return (report, bytes)
    }

    /// - Throws: ``ImageError`` with code `cannotFit` if the text doesn't fit even in the smallest size.
    func draw() throws(ImageError) -> Picture {
        guard !request.author.isEmpty else {
            let text = try drawnText(height: height)
            return try ground().with(text, x: centred(text.size), y: (size.height - text.size.height) / 2)
        }
        let author = try drawnAuthor()
        let below = 2 * ruleGap + ruleHeight + author.size.height
        let text = try drawnText(height: height - below)
        let top = (size.height - text.size.height - below) / 2
        let rule = top + text.size.height + ruleGap
        let card = try ground().with(text, x: centred(text.size), y: top)
        let ruleSize = PixelSize(width: width / 8, height: ruleHeight)
        try card.fill(x: centred(ruleSize), y: rule, size: ruleSize, with: style.accent)
        return try card.with(author, x: centred(author.size), y: rule + ruleHeight + ruleGap)
    }

    /// The card without text.
    func ground() throws(ImageError) -> Picture { try Picture.gradient(size, from: style.top, to: style.bottom) }

    /// Above and below the rule; more than the height of a letter's tail.
    private var ruleGap: Int { max(margin / 2, 40) }
    private var ruleHeight: Int { 3 }

    private func centred(_ part: PixelSize) -> Int { (size.width - part.width) / 2 }

    private func drawnText(height: Int) throws(ImageError) -> Picture {
        let markup = Self.markup(request.text, style.ink)
        let room = PixelSize(width: width, height: height)
        for sizes in [Self.smallestWhole...Self.sizes.upperBound, Self.sizes] {
            for breaksWords in [false, true] {
                if let text = try largest(markup, in: sizes, within: room, breaksWords: breaksWords) { return text }
            }
        }
        throw ImageError(.cannotFit, "the text doesn't fit in \(Self.sizes.lowerBound) pixels")
    }

    private func drawnAuthor() throws(ImageError) -> Picture {
        let markup = Self.markup(request.author, style.accent)
        let room = PixelSize(width: width, height: size.height / 6)
        for breaksWords in [false, true] {
            if let text = try largest(markup, in: 16...34, within: room, breaksWords: breaksWords) { return text }
        }
        throw ImageError(.cannotFit, "the author doesn't fit")
    }

    /// The text in the largest size of `sizes` that fits; nil if none does.
    private func largest(
        _ markup: String, in sizes: ClosedRange<Int>, within room: PixelSize, breaksWords: Bool
    ) throws(ImageError) -> Picture? {
        var (low, high) = (sizes.lowerBound, sizes.upperBound)
        var fitting: Int?
        while low <= high {
            let middle = (low + high) / 2
            if try fits(markup, middle, room, breaksWords) {
                fitting = middle
                low = middle + 1
            } else {
                high = middle - 1
            }
        }
        guard let fitting else { return nil }
        return try text(markup, fitting, room.width, breaksWords)
    }

    private func fits(
        _ markup: String, _ size: Int, _ room: PixelSize, _ breaksWords: Bool
    ) throws(ImageError) -> Bool {
        do {
            let drawn = try text(markup, size, room.width, breaksWords).size
            return drawn.width <= room.width && drawn.height <= room.height
        } catch  where error.code == .cannotFit {
            return false
        }
    }

    private func text(_ markup: String, _ size: Int, _ width: Int, _ breaksWords: Bool) throws(ImageError) -> Picture {
        try Picture.text(markup, font: "\(font) \(size)", width: width, breaksWords: breaksWords)
    }

    /// Pango's markup, in which three characters have a meaning. Control characters are left out.
    static func markup(_ text: String, _ colour: ImageRequest.Colour) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\n": escaped.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: escaped += " "
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return "<span foreground=\"\(colour.markup)\">\(escaped)</span>"
    }
}
