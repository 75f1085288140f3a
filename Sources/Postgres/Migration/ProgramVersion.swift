/// The version of a program: `0.2.0`. Missing numbers count as 0, and any suffix is ignored.
package struct ProgramVersion: Sendable, Hashable {
    private let numbers: [Int]

    package init(_ text: some StringProtocol) {
        var numbers = text.split(separator: ".", omittingEmptySubsequences: false).prefix(3).map { part in
            Int(part.prefix { $0.isASCII && $0.isNumber }) ?? 0
        }
        while numbers.count < 3 { numbers.append(0) }
        self.numbers = numbers
    }
}

extension ProgramVersion: Comparable, CustomStringConvertible {
    package static func < (one: Self, other: Self) -> Bool {
        one.numbers.lexicographicallyPrecedes(other.numbers)
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }
}
