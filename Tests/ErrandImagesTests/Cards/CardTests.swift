import ErrandImages
import Foundation
import Testing

@Suite("Cards") struct CardTests {
    /// A sentence in ten scripts, and texts that are hard to lay out.
    static let texts: [(name: String, text: String)] = [
        ("Latin", "I have made this letter longer than usual, only because I have not had time to make it shorter."),
        ("Greek", "Γνῶθι σεαυτόν. Μηδὲν ἄγαν."),
        ("Cyrillic", "Все счастливые семьи похожи друг на друга."),
        ("Arabic", "اطلبوا العلم من المهد إلى اللحد"),
        ("Hebrew", "אם אין אני לי, מי לי? וכשאני לעצמי, מה אני?"),
        ("Devanagari", "सत्यमेव जयते नानृतं"),
        ("Thai", "ความพยายามอยู่ที่ไหน ความสำเร็จอยู่ที่นั่น"),
        ("Chinese", "千里之行，始於足下。"),
        ("Japanese", "古池や蛙飛びこむ水の音"),
        ("Korean", "가는 말이 고와야 오는 말이 곱다"),
        ("emoji", "Love is 💛, and friends are 🎉👩‍👩‍👧!"),
        ("mixed", "She said «שלום» and then مرحبا, and <b>&amp; left</b>."),
        ("long word", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"),
        ("word without end", String(repeating: "abcdefghij", count: 60)),
        ("long text", String(repeating: "Nothing is so painful to the mind as a great and sudden change. ", count: 20)),
        ("one letter", "I"),
    ]

    /// Each text once, over all templates, appearances and formats, one after the other.
    static let cards: [CardRequest] = texts.enumerated().map { number, text in
        CardRequest(
            text: text.text, author: number % 5 == 4 ? "" : "Mary Wollstonecraft Shelley — ماري شيلي",
            template: CardRequest.Template.allCases[number % 4], appearance: number / 4 % 2 == 0 ? .light : .dark,
            format: CardRequest.Format.allCases[number % 3])
    }

    @Test("Q5: the text is inside the margins in every template, appearance, format and script")
    func inside() async throws {
        let pool = ImageProcessPool.forTests(processes: 2)
        // In a debug build, the forecast of a JPEG takes longer than the card.
        var request = ImageRequest()
        request.format = .webp
        try await withThrowingTaskGroup { group in
            for card in Self.cards {
                group.addTask { [request] in
                    let (report, bytes) = try await pool.card(card, as: request)
                    try Self.expectInside(try Samples.pixels(bytes), report, of: card)
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(Self.cards.map { "\($0.template) \($0.appearance)" }).count == 8)
        #expect(Set(Self.cards.map(\.format)).count == 3)
    }

    /// Expects the ground alone in the outer twelfth on each side, and other pixels within.
    private static func expectInside(_ pixels: [UInt8], _ report: ImageReport, of card: CardRequest) throws {
        let (width, height) = (report.width, report.height)
        let expected =
            switch card.format {
            case .square: (1_080, 1_080)
            case .story: (1_080, 1_920)
            case .wide: (1_200, 630)
            }
        #expect((width, height) == expected)
        let edge = min(width, height) / 12
        var outside = 0
        var inside = 0
        // Letters are wider than three pixels. A debug build takes a microsecond for each step of a range.
        pixels.withUnsafeBufferPointer { pixels in
            var y = 0
            while y < height {
                // The ground has one colour in a row.
                let ground = Int(pixels[3 * y * width + 1])
                let isMargin = y < edge || y >= height - edge
                var x = 0
                while x < width {
                    let difference = Int(pixels[3 * (y * width + x) + 1]) - ground
                    if difference > 24 || difference < -24 {
                        if isMargin || x < edge || x >= width - edge { outside += 1 } else { inside += 1 }
                    }
                    x += 3
                }
                y += 3
            }
        }
        #expect(outside == 0, "\(card)")
        #expect(inside > 50, "\(card)")
    }

    @Test("a text that is out of bounds or doesn't fit is refused with the reason")
    func refused() async throws {
        let pool = ImageProcessPool.forTests()
        for text in ["", " \n ", String(repeating: "a", count: 2_001)] {
            await #expect {
                _ = try await pool.card(CardRequest(text: text))
            } throws: {
                ($0 as? ImageError)?.code == .invalidRequest
            }
        }
        let long = CardRequest(text: String(repeating: "W W\n", count: 500), format: .wide)
        await #expect { _ = try await pool.card(long) } throws: { ($0 as? ImageError)?.code == .cannotFit }
    }

    @Test("a card has fewer bytes than the budget, and the same card has the same bytes")
    func budget() async throws {
        let pool = ImageProcessPool.forTests()
        var request = ImageRequest()
        (request.maxBytes, request.maxEdge) = (5_000, 320)
        let card = CardRequest(text: "Know thyself.", template: .slate, format: .square)
        let bytes = try await pool.card(card, as: request).bytes
        #expect(bytes.count < 5_000)
        #expect(try await pool.card(card, as: request).bytes == bytes)
    }
}
