import ErrandImages

/// The colours and fonts of a card.
struct CardStyle {
    let top: ImageRequest.Colour
    let bottom: ImageRequest.Colour
    let ink: ImageRequest.Colour
    /// The author and the rule above it.
    let accent: ImageRequest.Colour
    private let template: CardRequest.Template

    init(_ template: CardRequest.Template, _ appearance: CardRequest.Appearance) {
        let hex: (top: Int, bottom: Int, ink: Int, accent: Int)
        switch (template, appearance) {
        case (.paper, .light): hex = (0xFBF7EF, 0xF0E4CF, 0x2B2620, 0x8A6D3B)
        case (.paper, .dark): hex = (0x2A251F, 0x14110D, 0xF4EBDB, 0xC9A76A)
        case (.sky, .light): hex = (0xE4F3FF, 0xB8DDF8, 0x10304A, 0x1F6391)
        case (.sky, .dark): hex = (0x0E2746, 0x061224, 0xDDEEFF, 0x7DBCEB)
        case (.blossom, .light): hex = (0xFFF0F4, 0xFFD3DE, 0x571331, 0xA93A63)
        case (.blossom, .dark): hex = (0x3F1024, 0x1D0510, 0xFFDFE9, 0xEE8FB0)
        case (.slate, .light): hex = (0xF4F4F5, 0xDADADD, 0x17181A, 0x55585E)
        case (.slate, .dark): hex = (0x202226, 0x0B0C0E, 0xF5F5F6, 0xA6ABB3)
        }
        top = ImageRequest.Colour(hex: hex.top)
        bottom = ImageRequest.Colour(hex: hex.bottom)
        ink = ImageRequest.Colour(hex: hex.ink)
        accent = ImageRequest.Colour(hex: hex.accent)
        self.template = template
    }

    /// Families and style, as Pango reads them. A script that the family lacks is taken from another font.
    func font(for text: String) -> String {
        switch template {
        case .paper: "Noto Serif, DejaVu Serif, serif"
        case .sky: "Noto Sans, DejaVu Sans, sans-serif"
        case .blossom: "Noto Serif, DejaVu Serif, serif" + (Self.hasItalics(text) ? " Italic" : "")
        case .slate: "Noto Sans, DejaVu Sans, sans-serif Bold"
        }
    }

    /// Whether all letters are of scripts that are written in italics: Latin, Greek, Cyrillic. Others would be slanted
    /// by the renderer, which looks wrong.
    private static func hasItalics(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            !$0.properties.isAlphabetic || $0.value < 0x530 || 0x1E00..<0x2000 ~= $0.value
        }
    }
}

extension ImageRequest.Colour {
    /// - Parameter hex: as `0xRRGGBB`.
    fileprivate init(hex: Int) {
        self.init(
            red: UInt8(truncatingIfNeeded: hex >> 16), green: UInt8(truncatingIfNeeded: hex >> 8),
            blue: UInt8(truncatingIfNeeded: hex))
    }

    /// As `#rrggbb`.
    var markup: String {
        "#"
            + [red, green, blue].map { value in
                let digits = String(value, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
    }

    var parts: [Double] { [Double(red), Double(green), Double(blue)] }
}
