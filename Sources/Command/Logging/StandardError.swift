import Foundation

/// Writes a text and its end to standard error, at once, so that lines of several threads don't mix.
///
/// A reader that is gone or a full disk loses the line, and nothing else: no log is worth a worker.
func writeError(_ text: String, end: String = "\n") {
    try? FileHandle.standardError.write(contentsOf: Data((text + end).utf8))
}
