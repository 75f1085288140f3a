import Foundation

/// Writes the Swift file with the texts of the SQL scripts. The build runs it through `EmbedSQLPlugin`.
///
/// The arguments are the file to write, the folder to which the scripts' names are relative, and the scripts. The exit
/// code is 1 if a script breaks a rule; the message has the compiler's form, `file:line: error: rule`.
@main enum EmbedSQL {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { exit(64) }
        let folder = arguments[1].hasSuffix("/") ? arguments[1] : arguments[1] + "/"
        do {
            let files = try arguments.dropFirst(2).map { try read($0, in: folder) }
            let swift = SwiftText(of: try ScriptParts(files))
            try Data(swift.text.utf8).write(to: URL(fileURLWithPath: arguments[0]))
        } catch let error as RuleError {
            complain("\(folder)\(error.path):\(error.line): error: \(error.rule)")
        } catch {
            complain("error: \(error.localizedDescription)")
        }
    }

    private static func read(_ path: String, in folder: String) throws -> ScriptFile {
        let name = String(path.dropFirst(path.hasPrefix(folder) ? folder.count : 0))
        guard let text = String(data: try Data(contentsOf: URL(fileURLWithPath: path)), encoding: .utf8) else {
            throw RuleError(path: name, rule: "a script is UTF-8 text")
        }
        return ScriptFile(path: name, text: text)
    }

    private static func complain(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
