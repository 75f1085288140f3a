import Foundation

/// Writes the Swift file with the texts of a folder: SQL scripts, or templates, styles and other files of a page. The
/// build runs it through `EmbedTextPlugin`.
///
/// The arguments are the file to write, the folder to which the names are relative, and the files. The exit code is 1
/// if an SQL script breaks a rule; the message has the compiler's form, `file:line: error: rule`.
@main enum EmbedText {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { exit(64) }
        let folder = arguments[1].hasSuffix("/") ? arguments[1] : arguments[1] + "/"
        do {
            let files = try arguments.dropFirst(2).map { try read($0, in: folder) }
            let areScripts = files.allSatisfy { $0.path.hasSuffix(".sql") }
            let swift = areScripts ? try SwiftText(of: ScriptParts(expanded(files))) : SwiftText(of: files)
            try Data(swift.text.utf8).write(to: URL(fileURLWithPath: arguments[0]))
        } catch let error as RuleError {
            complain("\(folder)\(error.path):\(error.line): error: \(error.rule)")
        } catch {
            complain("error: \(error.localizedDescription)")
        }
    }

    private static func expanded(_ files: [ScriptFile]) throws -> [ScriptFile] {
        let columns = try Columns(files.first { $0.path == Columns.path })
        return files.filter { $0.path != Columns.path }.map(columns.expanded)
    }

    private static func read(_ path: String, in folder: String) throws -> ScriptFile {
        let name = String(path.dropFirst(path.hasPrefix(folder) ? folder.count : 0))
        guard let text = String(data: try Data(contentsOf: URL(fileURLWithPath: path)), encoding: .utf8) else {
            throw RuleError(path: name, rule: "an embedded file is UTF-8 text")
        }
        return ScriptFile(path: name, text: text)
    }

    private static func complain(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
