import ArgumentParser
import Foundation

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check all that a deployment needs, and say how to fix what is wrong.",
        discussion: """
            errand doctor --as worker || exit

            Run it where the process will run, before it does, with its settings and as its user. It changes nothing, but for a \
            file that it writes, reads and removes where photos are kept. Takes some seconds.

            FAIL: the process would not do its work here. warn: it would, but somebody should look. \
            Exits with the code of the first check that fails: 69 where something is unreachable, 78 where something is set up \
            wrongly, 1 else. Warnings alone end with 0, or with 1 where --strict is given.
            """)

    @Option(
        name: .customLong("as"),
        help: "What is to run here: run (worker, scheduler and web), worker, scheduler, web, api, ops or monitor.")
    var role = DoctorRole.run

    @Flag(help: "Print a JSON array of {\"check\", \"result\", \"detail\", \"fix\"}.")
    var json = false

    @Flag(help: "End with 1 also where there are warnings only.")
    var strict = false

    func run() async throws {
        let checkup = Checkup(environment: try Environment.load(), role: role)
        var findings: [Finding] = []
        for check in checkup.checks { findings += await check() }
        try show(findings)
        if let first = findings.first(where: { $0.result == .failed }) { throw ExitCode(first.code) }
        if strict && findings.contains(where: { $0.result == .warning }) { throw ExitCode(Failure.failed) }
    }

    private func show(_ findings: [Finding]) throws {
        if json { return print(try Command.json(findings)) }
        let width = findings.map(\.check.columns).max() ?? 0
        for finding in findings {
            let head = "\(finding.result.word)  \(finding.check.padded(to: width))  "
            let indent = String(repeating: " ", count: head.columns)
            let detail = finding.detail.printable.wrapped(to: TextTable.screen - head.columns)
            print(head + detail.joined(separator: "\n" + indent))
            if let fix = finding.fix {
                let lines = "fix: \(fix)".printable.wrapped(to: TextTable.screen - head.columns)
                print(indent + lines.joined(separator: "\n" + indent))
            }
        }
    }
}

/// What one check has found.
struct Finding: Encodable, Sendable {
    enum Result: String, Encodable {
        case ok, warning, failed

        /// For people, all of one width.
        var word: String {
            switch self {
            case .ok: "ok  "
            case .warning: "warn"
            case .failed: "FAIL"
            }
        }
    }

    let check: String
    let result: Result
    let detail: String
    /// What to do where it isn't ok.
    let fix: String?
    /// How the program ends where this is the first that isn't ok.
    let code: Int32

    enum CodingKeys: CodingKey { case check, result, detail, fix }

    static func ok(_ check: String, _ detail: String) -> Finding {
        Finding(check: check, result: .ok, detail: detail, fix: nil, code: 0)
    }

    static func warn(_ check: String, _ detail: String, fix: String?) -> Finding {
        Finding(check: check, result: .warning, detail: detail, fix: fix, code: 0)
    }

    static func fail(_ check: String, _ detail: String, fix: String, code: Int32 = Failure.misconfigured) -> Finding {
        Finding(check: check, result: .failed, detail: detail, fix: fix, code: code)
    }
}
