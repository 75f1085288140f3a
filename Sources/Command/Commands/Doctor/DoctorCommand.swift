import ArgumentParser
import Foundation

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what a deployment needs, and say how to fix each problem.",
        discussion: """
            errand doctor --as worker || exit

            Run it before the process, on the same host, with its settings and as its user. It changes nothing except for a \
            file that it writes, reads and removes in the photo store. Takes some seconds.

            errand doctor --deploy

            decodes the payloads of all unfinished and failed jobs with this program's handlers, before it replaces \
            another version. It needs the rights of errand_ops, locks nothing, and exits with 1 if a payload doesn't fit. \
            A program of your own does the same by Handlers.readPayloads, or python -m errand doctor.

            FAIL: the process would not work here. warn: it would, but an operator should check. \
            Exits with the code of the first failed check: 69 if something is unreachable, 78 if something is configured \
            wrongly, otherwise 1. With warnings only it exits with 0, or with 1 if --strict is given.
            """)

    @Option(
        name: .customLong("as"),
        help: "What is to run here: run (worker, scheduler and web), worker, scheduler, web, api, ops or monitor.")
    var role = DoctorRole.run

    @Flag(help: "Read the payloads of all unfinished and failed jobs, and check nothing else.")
    var deploy = false

    @Flag(help: "Print a JSON array of {\"cell\", \"check\", \"result\", \"detail\", \"fix\"}.")
    var json = false

    @Flag(help: "Exit with 1 also for warnings.")
    var strict = false

    func run() async throws {
        let diagnostics = Diagnostics(environment: try Environment.load(), role: role)
        let findings = deploy ? await diagnostics.payloadFindings() : await diagnostics.findings()
        try show(findings)
        if let first = findings.first(where: { $0.result == .failed }) { throw ExitCode(first.code) }
        if strict && findings.contains(where: { $0.result == .warning }) { throw ExitCode(Failure.failed) }
    }

    private func show(_ findings: [Finding]) throws {
        if json { return print(try Command.json(findings)) }
        let width = findings.map(\.check.columns).max() ?? 0
        let cells = findings.compactMap(\.cell).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        for cell in cells {
            print(Style.bold.applied(to: cell.printable))
            for finding in findings where finding.cell == cell { show(finding, width: width) }
        }
        if !cells.isEmpty { print(Style.bold.applied(to: "this host")) }
        for finding in findings where finding.cell == nil { show(finding, width: width) }
    }

    private func show(_ finding: Finding, width: Int) {
        let word = finding.result.word
        let head = "\(word)  \(finding.check.padded(to: width))  "
        let indent = String(repeating: " ", count: head.columns)
        let detail = finding.detail.printable.wrapped(to: TextTable.terminalWidth - head.columns)
        let styled = (Style.of(word) ?? .bold).applied(to: word) + head.dropFirst(word.count)
        print(styled + detail.joined(separator: "\n" + indent))
        if let fix = finding.fix {
            let lines = "fix: \(fix)".printable.wrapped(to: TextTable.terminalWidth - head.columns)
            print(indent + lines.joined(separator: "\n" + indent))
        }
    }
}

/// The result of one check.
struct Finding: Encodable, Sendable {
    enum Result: String, Encodable {
        case ok, warning, failed

        /// The word for people, all of one width.
        var word: String {
            switch self {
            case .ok: "ok  "
            case .warning: "warn"
            case .failed: "FAIL"
            }
        }
    }

    /// The database that it is about, if there are several.
    var cell: String?
    let check: String
    let result: Result
    let detail: String
    /// How to fix it.
    let fix: String?
    /// The program's exit code if this is the first finding that isn't ok.
    let code: Int32

    enum CodingKeys: CodingKey { case cell, check, result, detail, fix }

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
