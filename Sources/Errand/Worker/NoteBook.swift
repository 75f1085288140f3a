import Foundation
import Postgres
import Synchronization

/// What a worker's running attempts report and log, until it is written: once a second, for all of them at once.
final class NoteBook: Sendable {
    /// What one attempt has said.
    struct Note: Sendable {
        static let lines = 50
        static let bytes = 8192

        let job: ClaimedJob
        var fraction: Double?
        var message: String?
        var output: JSONB?
        private(set) var log: [String] = []
        private var logBytes = 0
        /// Something has been said that isn't written yet.
        var isNews = false

        init(of job: ClaimedJob) { self.job = job }

        /// Keeps a line; the oldest ones give way.
        mutating func keep(_ line: String) {
            let line = String(line.prefix(1000))
            log.append(line)
            logBytes += line.utf8.count
            while log.count > Self.lines || logBytes > Self.bytes { logBytes -= log.removeFirst().utf8.count }
        }
    }

    private let notes = Mutex<[Int64: Note]>([:])

    var isEmpty: Bool { notes.withLock(\.isEmpty) }

    /// Changes what is known of an attempt. What an older attempt of the job still says is dropped.
    func note(_ job: ClaimedJob, _ change: (inout Note) -> Void) {
        notes.withLock { notes in
            var note = notes[job.id] ?? Note(of: job)
            if note.job.line < job.line { note = Note(of: job) }
            guard note.job.line == job.line else { return }
            change(&note)
            note.isNews = true
            notes[job.id] = note
        }
    }

    /// What is to be written now; what has ended is forgotten once it has been taken.
    func take(running: Set<Int64>) -> [Note] {
        notes.withLock { notes in
            let news = notes.values.filter(\.isNews).sorted { $0.job.id < $1.job.id }
            for note in news { notes[note.job.id]?.isNews = false }
            notes = notes.filter { running.contains($0.key) }
            return news
        }
    }

    /// Takes back what could not be written, unless there is newer already.
    func put(back taken: [Note]) {
        notes.withLock { notes in
            for note in taken {
                notes[note.job.id] = notes[note.job.id] ?? note
                notes[note.job.id]?.isNews = true
            }
        }
    }
}

extension NoteBook {
    /// The statement that writes them.
    static func statement(for notes: [Note]) throws -> Statement {
        Statement("select errand.note_v1($1)", [try JSONB(encoding: notes.map(Row.init))])
    }

    /// One element of errand.note_v1's notes.
    private struct Row: Encodable {
        let job_id: Int64
        let line: Int64
        let attempt: Int
        let fraction: Double?
        let message: String?
        let output: JSONValue?
        let log: [String]?

        init(_ note: Note) throws {
            job_id = note.job.id
            line = note.job.line
            attempt = note.job.attempt
            fraction = note.fraction
            message = note.message?.storable
            output = try note.output?.decode(JSONValue.self)
            log = note.log.isEmpty ? nil : note.log.map(\.storable)
        }
    }
}
