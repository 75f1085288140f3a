import Testing

@testable import EmbedText

@Suite("SQL as a Swift literal") struct SwiftTextTests {
    @Test("quotes and backslashes of the text neither end nor escape the literal")
    func fencesTheText() {
        #expect(SwiftText.literal(#"select E'\n'"#) == "#\"\"\"\nselect E'\\n'\n\"\"\"#")
        #expect(SwiftText.literal(##"a \#(b)"##).hasPrefix("##\"\"\"\n"))
        #expect(SwiftText.literal("a \"\"\"# b").hasSuffix("\n\"\"\"##"))
    }

    @Test("no scripts at all still make a module")
    func bearsNothing() throws {
        #expect(try SwiftText(of: ScriptParts([])).text.contains("static let parts: [SchemaPart] = []"))
    }
}
