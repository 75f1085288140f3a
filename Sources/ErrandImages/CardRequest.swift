/// A card: a text and its author in a style, as an image to share.
///
/// ```swift
/// let card = CardRequest(text: "Know thyself.", author: "Inscription at Delphi", template: .paper)
/// let (report, bytes) = try await images.card(card)
/// ```
///
/// The whole text is inside the card, in the largest size that fits. Any script can be shown that the fonts of the host
/// cover; a character without a font appears as a box.
public struct CardRequest: Codable, Hashable, Sendable {
    /// The look: colours and font.
    public enum Template: String, Codable, CaseIterable, Sendable {
        /// Warm paper, serif.
        case paper
        /// A blue sky, sans serif.
        case sky
        /// Rose, serif italic.
        case blossom
        /// Grey, bold sans serif.
        case slate
    }

    /// Dark text on a light ground, or the reverse.
    public enum Appearance: String, Codable, CaseIterable, Sendable {
        case light, dark
    }

    /// The sides of the card.
    public enum Format: String, Codable, CaseIterable, Sendable {
        /// 1,080 x 1,080 pixels.
        case square
        /// 1,080 x 1,920 pixels, a phone's screen.
        case story
        /// 1,200 x 630 pixels, a link's preview.
        case wide

        package var size: PixelSize {
            switch self {
            case .square: PixelSize(width: 1_080, height: 1_080)
            case .story: PixelSize(width: 1_080, height: 1_920)
            case .wide: PixelSize(width: 1_200, height: 630)
            }
        }
    }

    /// The longest text, in characters.
    public static let longestText = 2_000
    /// The longest author, in characters.
    public static let longestAuthor = 200

    /// 1 to ``longestText`` characters. Line breaks are kept.
    public var text: String
    /// At most ``longestAuthor`` characters, shown below the text. Default empty: none.
    public var author: String
    /// The look. Default ``Template/paper``.
    public var template: Template
    /// Default light.
    public var appearance: Appearance
    /// The sides. Default square.
    public var format: Format

    public init(
        text: String, author: String = "", template: Template = .paper, appearance: Appearance = .light,
        format: Format = .square
    ) {
        self.text = text
        self.author = author
        self.template = template
        self.appearance = appearance
        self.format = format
    }

    /// Throws ``ImageError/Code/invalidRequest``, with the option and its bounds, where one is out of them.
    package func check() throws(ImageError) {
        guard 1...Self.longestText ~= text.count, !text.allSatisfy(\.isWhitespace) else {
            throw ImageError(
                .invalidRequest, "text must have 1...\(Self.longestText) characters, and has \(text.count)")
        }
        guard author.count <= Self.longestAuthor else {
            throw ImageError(
                .invalidRequest, "author must have at most \(Self.longestAuthor) characters, and has \(author.count)")
        }
    }
}
