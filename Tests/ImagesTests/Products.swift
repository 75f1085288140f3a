import Foundation

/// Where the build put the programs: beside this test's own bundle.
enum Products {
    static let errandImage: String = {
        let test = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("errand-image").path
    }()
}
