import Errand

/// What a function of an app returns in one word.
///
/// Another version of the schema may know more words. No job guesses what one of those asks for: its attempt fails, and
/// is retried.
protocol FunctionReply: RawRepresentable, CaseIterable where RawValue == String {}

extension FunctionReply {
    /// - Throws: ``UnexpectedReply`` for a word that this version doesn't know.
    init(_ word: String, from function: String) throws {
        guard let known = Self(rawValue: word) else {
            let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw UnexpectedReply(function, expected: "one of \(words)", came: word)
        }
        self = known
    }
}

/// A function returned a word that this version doesn't know: program and schema don't match.
struct UnexpectedReply: Error, CustomStringConvertible {
    let description: String

    init(_ function: String, expected: String, came: String) {
        description = "\(function): expected \(expected), got \(came); run `errand migrate` of this version"
    }
}
