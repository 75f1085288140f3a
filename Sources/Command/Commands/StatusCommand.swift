import ArgumentParser
import Foundation
import Postgres

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "One screen: queues, workers, schedules, recent failures, and problems.",
        discussion: """
            errand status --watch
            errand status --json | jq '.queues[] | select(.waiting > 1000)'

            Reads the views errand.queues, workers, schedules and failures, and errand.health(). \
            Where hundreds of jobs wait, their number is that of the last count (~), some seconds ago.
            """)

    @Flag(help: "Print one JSON object; with --watch, one line each time.")
    var json = false

    @Flag(help: "Show it again and again. On a terminal, q ends it, and arrows, space, b, g and G scroll.")
    var watch = false

    @Option(help: "With --watch: the interval, such as 500ms or 10s.")
    var every = "2s"

    @Option(help: "With --watch: how many times. Default: for ever.")
    var times: Int?

    func validate() throws {
        guard Duration(setting: every, atLeast: .milliseconds(100)) != nil else {
            throw ValidationError("--every: expected a duration of at least 100ms, got '\(every)'")
        }
        if let times, times < 1 { throw ValidationError("--times: expected at least 1, got \(times)") }
    }

    func run() async throws {
        let environment = try Environment.load()
        guard watch else { return print(text(of: try await environment.withConnection(Status.read))) }
        let interval = Duration(setting: every) ?? .seconds(2)
        if !json, let keyboard = Keyboard() {
            defer { keyboard.restore() }
            return try await show(environment, every: interval, keyboard)
        }
        var shown = 0
        while true {
            let text = text(of: try await environment.withConnection(Status.read))
            print(json ? text : text + "\n")
            shown += 1
            // The reader is gone (| head).
            guard shown != times, fflush(nil) == 0 else { return }
            try await Task.sleep(for: interval)
        }
    }

    private func text(of status: Status) -> String { json ? status.json : status.text }
}

// MARK: - On a terminal
extension StatusCommand {
    /// Redraws the terminal at each interval and after each key, until q.
    private func show(_ environment: Environment, every interval: Duration, _ keyboard: Keyboard) async throws {
        var pager = Pager(height: TextTable.terminalHeight)
        var shown = 0
        while shown != times {
            pager.lines = try await snapshot(environment).split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
            pager.title = Self.title(of: environment, at: Date(), every: every)
            shown += 1
            let next = ContinuousClock.now + interval
            repeat {
                pager.height = TextTable.terminalHeight
                draw(pager.frame)
                guard try await wait(for: keyboard, until: next, &pager) else { return }
            } while ContinuousClock.now < next
        }
    }

    /// Returns at the first key or at that time; false if the key ends the command.
    private func wait(
        for keyboard: Keyboard, until next: ContinuousClock.Instant, _ pager: inout Pager
    ) async throws -> Bool {
        while ContinuousClock.now < next {
            let keys = Pager.keys(in: keyboard.read())
            for key in keys where !pager.press(key) { return false }
            if !keys.isEmpty { return true }
            try await Task.sleep(for: .milliseconds(30))
        }
        return true
    }

    /// The current status, or an error if the database can't be reached, so that a watcher sees it come back.
    private func snapshot(_ environment: Environment) async throws -> String {
        do {
            return text(of: try await environment.withConnection(Status.read))
        } catch let error as PostgresError where error.isTransient {
            return "errand: \(error.description.printable)"
        }
    }

    /// The first line: what is shown, and when.
    private static func title(of environment: Environment, at now: Date, every: String) -> String {
        let database = (try? environment.database()).map { " \($0)" } ?? ""
        let text = "errand status\(database.printable)  \(now.formatted(.iso8601))  every \(every)  q: quit"
        // The position in the text follows.
        return Style.bold.applied(to: text.cut(to: TextTable.terminalWidth - 28))
    }

    /// Overwrites the lines instead of clearing them, to avoid flicker.
    private func draw(_ lines: [String]) {
        print("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J", terminator: "")
        fflush(nil)
    }
}
