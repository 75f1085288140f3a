import Testing

@testable import EmbedText

@Suite("What the heads of scripts declare") struct DeclarationsTests {
    private static let code = ScriptFile(
        path: "films/functions/code.sql",
        text: """
            -- code: returns the event's
            -- QR code. Draws none.
            --
            --   select key
            --   from films.code('x');
            --
            -- Raises nothing.
            -- errand: for enqueuer, ops
            create or replace function films.code(id text) returns text

            """)

    @Test("the first paragraph and the example below it are the function's comment")
    func comment() throws {
        #expect(
            try Self.code.commented == Self.code.text + """
                comment on function films.code is 'Returns the event''s QR code. Draws none. Example: \
                select key from films.code(''x'')';

                """)
    }

    @Test("a head that doesn't begin with the function's name fails the build")
    func unnamed() {
        let file = ScriptFile(path: "functions/a/b.sql", text: "-- Returns b.\ncreate or replace function errand.b()\n")
        #expect(throws: RuleError(path: file.path, rule: "the first paragraph is the function's comment: -- b: …")) {
            try file.commented
        }
    }

    @Test("roles, hidden columns and topics become rows of errand.declaration, which replace those of the part")
    func rows() throws {
        let view = ScriptFile(
            path: "films/views/v.sql",
            text: """
                -- v: all.
                -- errand: for monitor
                -- errand: hides title, host
                -- errand: topic find, pause
                create or replace view films.v as

                """)
        let script = try #require(try Declarations(of: [Self.code, view])).script
        #expect(script.name == "films/declarations")
        #expect(
            script.text.hasSuffix(
                """
                delete from errand.declaration where part = 'films';
                insert into errand.declaration (part, object, is_view, roles, hidden, topics)
                values
                    ('films', 'films.code', false, '{enqueuer,ops}', '{}', '{}'),
                    ('films', 'films.v', true, '{monitor}', '{title,host}', '{find,pause}');

                """))
        let plain = ScriptFile(path: "views/a.sql", text: "-- a: b.\ncreate or replace view errand.a as\n")
        #expect(try Declarations(of: [plain]) == nil)
    }

    @Test(
        "a declaration that means nothing fails the build with its file",
        arguments: [
            "-- a: b.\n-- errand: for everybody\ncreate or replace view errand.a as\n",
            "-- a: b.\n-- errand: for ops\nselect 1;\n",
            "-- a: b.\n-- errand: topic find\ncreate or replace view errand.a as\n",
            "-- a: b.\n-- errand: for ops\n-- errand: hides c\ncreate or replace view errand.a as\n",
        ])
    func refuses(text: String) {
        #expect(throws: RuleError.self) { try Declarations(of: [ScriptFile(path: "views/a.sql", text: text)]) }
    }
}
