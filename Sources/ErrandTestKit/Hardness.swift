import Foundation

/// How hard this package's own tests try. `make faults` sets ERRAND_FAULTS=full: the promised numbers and times.
package enum Hardness {
    package static let isFull = ProcessInfo.processInfo.environment["ERRAND_FAULTS"] == "full"
}
