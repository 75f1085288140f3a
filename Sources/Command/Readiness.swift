import Errand
import Web

extension Worker {
    /// The lease, without which it claims nothing, its connections, and how it hears of jobs.
    var readiness: [ReadinessCheck] {
        [
            ReadinessCheck.showing("lease") {
                guard let id = leaseID else { throw NotReady("none: it claims nothing") }
                return "worker \(id)"
            },
            ReadinessCheck.showing("connections") {
                let (needed, granted) = connections
                guard let granted else { return "at least \(needed)" }
                throw NotReady("the database grants \(granted) of the \(needed) that it needs: they are shared")
            },
            ReadinessCheck.showing("wake-ups", isRequired: false) {
                if listens { return "by NOTIFY" }
                let polling = "polling every \(configuration.pollInterval / .milliseconds(1)) ms"
                guard configuration.listens else { return polling }
                throw NotReady("no connection listens: \(polling)")
            },
        ]
    }
}

extension Scheduler {
    /// The last read of the schedules, which happens every second.
    var readiness: [ReadinessCheck] {
        [
            ReadinessCheck.showing("schedules") {
                guard let lastRead else { throw NotReady("not read yet") }
                let age = ContinuousClock.now - lastRead
                let text = "read \(Int(age / .milliseconds(1))) ms ago"
                guard age < .seconds(10) else { throw NotReady(text) }
                return text
            }
        ]
    }
}
