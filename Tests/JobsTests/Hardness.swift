import Foundation

/// Whether long checks run in full, as in `ERRAND_FAULTS=full scripts/test.sh --filter DailyQuote`.
enum Hardness {
    static let isFull = ProcessInfo.processInfo.environment["ERRAND_FAULTS"] == "full"
}
