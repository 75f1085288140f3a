import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("The SQL of the documents") struct DocumentTests {
    @Test(
        "each query of a document can be run by the role that it is for, and returns what the document shows",
        arguments: Document.all.filter(\.hasState))
    func queries(document: Document) async throws {
        // It shows a queue without apps.
        let isAlone = document.path == "docs/operations.md"
        try await withTestDatabase(schema: isAlone ? TestSchema() : .withApps) { database, configuration in
            for statement in document.before { try await database.execute(Statement(statement)) }
            try await run(document, in: database, configuration)
            for statement in document.after { try await database.execute(Statement(statement)) }
        }
    }

    @Test("each query of a document that shows no results can be run by the role that it is for")
    func queriesOfOthers() async throws {
        try await withAppDatabase { database, configuration in
            for document in Document.all where !document.hasState {
                for statement in document.before { try await database.execute(Statement(statement)) }
                try await run(document, in: database, configuration)
            }
        }
    }

    private func run(_ document: Document, in database: Database, _ configuration: PostgresConfiguration) async throws {
        var role: String? = "errand_ops"
        // Those of one role, in one session.
        var queries: [(sql: String, expected: String?)] = []
        func runQueries() throws {
            if queries.isEmpty { return }
            defer { queries = [] }
            let mark = "—— the next query ——"
            let script = queries.map { "\\echo '\(mark)'\n\(document.filled($0.sql))\n;\n" }.joined()
            let output = try psql(script, of: configuration, as: role)
            #expect(!output.contains("ERROR:"), "\(document.path): \(output)")
            let results = output.components(separatedBy: mark + "\n").dropFirst()
            #expect(results.count == queries.count, "\(document.path)")
            for (result, query) in zip(results, queries) {
                if let expected = query.expected { #expect(result == expected, "\(document.path): \(query.sql)") }
            }
        }
        for part in document.parts {
            switch part {
            case .query(let sql, let expected): queries.append((sql, expected))
            case .role(let name):
                try runQueries()
                role = name == "the owner" ? nil : name
            case .meanwhile(let event):
                try runQueries()
                try await Self.happen(event, in: database)
            }
        }
        try runQueries()
    }

    @Test("the documents with most SQL are among them, with their results")
    func found() {
        let results = Document.all.map { document in
            (document.path, document.parts.count { if case .query(_, .some) = $0 { true } else { false } })
        }
        let counts = Dictionary(uniqueKeysWithValues: results)
        #expect(counts["docs/operations.md"] ?? 0 >= 6)
        // The page of each app has results, and the manual of each job has SQL.
        let others = ["docs/apps/README.md", "docs/apps/sql.md"]
        for page in Document.texts where page.path.hasPrefix("docs/apps/") && !others.contains(page.path) {
            #expect(counts[page.path] ?? 0 >= 1, "\(page.path)")
        }
        for manual in Document.texts where manual.path.hasPrefix("jobs/") {
            #expect(counts[manual.path] != nil, "\(manual.path)")
        }
    }

    /// The concurrent action of `<!-- meanwhile: … -->`.
    private static func happen(_ event: String, in database: Database) async throws {
        switch event {
        case "the worker claims it and fails":
            try await database.fail(claim(in: database), with: "bucket 'photos' answered 404 NoSuchBucket")
        case "the worker claims it and succeeds":
            _ = try await claim(in: database)
            try await database.execute(
                "select errand_internal.finish_v1(worker_id, array[id], array[queue_position], null) from errand.job")
        case "a newsletter is sent":
            for statement in newsletter { try await database.execute(Statement(statement)) }
        default: Issue.record("nobody knows how this happens: \(event)")
        }
    }

    /// Returns the worker, which runs the photo's job from now on.
    private static func claim(in database: Database) async throws -> Int64 {
        let worker = try await database.query("select max(id) from errand.worker").scalar(Int64.self)
        try await database.take(worker, queue: "images", kinds: "image_compression")
        return worker
    }

    /// What the questions of operators are about.
    private static let newsletter = [
        """
        insert into errand.worker (id, name, version, queues, kinds, lease) overriding system value
        values (17, 'host:1', '1', '{images,bulk}', '{newsletter}', '1 hour')
        """,
        "insert into errand.kind (name, queue, max_attempts, priority) values ('newsletter', 'images', 3, 2)",
        "insert into errand.job (id, queue_position, queue, kind) values (4711, 1, 'images', 'newsletter')",
        "select errand.put_schedule('nightly', '0 3 * * *', 'noop')",
    ]
}

/// A Markdown file with SQL in it: in blocks, and in code within a line that begins with `select`.
struct Document: CustomTestStringConvertible {
    enum Part: Equatable {
        /// A block, with the expected output of the ```text block after it.
        case query(String, result: String?)
        /// `<!-- as ROLE -->`: the role of the block; errand_ops by default.
        case role(String)
        case meanwhile(String)
    }

    /// From the checkout's folder.
    let path: String
    let parts: [Part]
    /// The statements of `<!-- first: STATEMENT -->`, which make the initial rows.
    let first: [String]

    var testDescription: String { path }

    static let all = texts.filter { document in
        document.parts.contains { if case .query = $0 { true } else { false } }
    }

    /// All Markdown files.
    static let texts: [Document] = {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardizedFileURL
        let files = FileManager.default.enumerator(
            at: root, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
        return (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "md" }.compactMap { file in
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            let path = String(file.standardizedFileURL.path.dropFirst(root.path.count))
            let first = text.matches(of: /<!-- first: ((?s:.*?)) -->/).map { String($0.1) }
            let document = Document(
                path: path.trimmingPrefix("/").description, parts: parts(of: text), first: first)
            return document
        }
        .sorted { $0.path < $1.path }
    }()

    /// `<!-- not run -->` before a block skips it.
    private static func parts(of text: String) -> [Part] {
        var isSkipped = false
        return text.matches(
            of:
                /<!-- (as|first:|meanwhile:|not run) ?((?s:.*?)) ?-->|```(\w*)\n((?s:.*?))```(?:\s*```text\n((?s:.*?))```)?|`(select [^`]*)`/
        ).compactMap { match -> Part? in
            if let word = match.1 {
                isSkipped = word == "not run"
                if isSkipped || word == "first:" { return nil }
                return word == "as" ? .role(String(match.2 ?? "")) : .meanwhile(String(match.2 ?? ""))
            }
            if let query = match.6 { return .query("\(query);\n", result: nil) }
            guard match.3 == "sql" else { return nil }
            if isSkipped {
                isSkipped = false
                return nil
            }
            return .query(String(match.4 ?? ""), result: match.5.map(String.init))
        }
    }
}

// MARK: - Expected output
extension Document {
    private static let anID = "6c1d0000-0000-4000-8000-000000000001"

    /// Without placeholders, which a reader replaces with values.
    func filled(_ sql: String) -> String {
        [
            ("6c1d…", Self.anID), (#"\xffd8…"#, #"\xffd8"#), ("explain(id)", "explain(1)"),
            ("explain(…)", "explain(1)"), ("where id = …", "where id = 1"), (#" \watch 1"#, ";"),
        ]
        .reduce(sql) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }

    /// Whether it shows results, or needs rows of its own: then it has a database of its own.
    var hasState: Bool {
        let showsResults = parts.contains { part in
            switch part {
            case .query(_, let result): result != nil
            case .meanwhile: true
            case .role: false
            }
        }
        // Schedules may be there twice.
        return showsResults || !before.allSatisfy { $0.contains("put_schedule") } || !after.isEmpty
    }

    /// The initial rows for a document.
    var before: [String] {
        switch path {
        case "docs/operations.md":
            [
                """
                select errand_internal.register_worker_v1('host:1', '1', '1 hour', '{images}',
                    '[{"name": "image_compression", "queue": "images", "max_attempts": 3, "priority": 2}]')
                """,
                "select errand.enqueue('image_compression', unique_key => 'photo/17')",
                "select errand.pause_queue('images', 'storage is being moved')",
            ]
        case "README.md":
            ["insert into errand.job (id, queue_position, queue, kind) values (4711, 1, 'images', 'newsletter')"]
        case "docs/handlers.md":
            [
                """
                create function public.order_is_unpaid(payload jsonb) returns boolean
                language sql stable as 'select true'
                """
            ]
        case "docs/schedules.md":
            ["select errand.put_schedule('nightly', '0 3 * * *', 'noop')"]
        default: first.map(filled)
        }
    }

    /// Roles belong to the whole server.
    var after: [String] {
        switch path {
        case "deploy/README.md": ["drop role errand_runs, errand_watches"]
        case "docs/pull.md": ["drop role mailer"]
        case "docs/sql-handlers.md": ["drop owned by shop cascade", "drop role shop"]
        default: []
        }
    }
}
