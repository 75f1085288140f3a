import ArgumentParser

/// The role for which a host, its settings and its database user are checked.
enum DoctorRole: String, CaseIterable, ExpressibleByArgument {
    /// `errand run`: worker, scheduler and web in one process.
    case run
    case worker, scheduler, web
    /// An application that enqueues.
    case api
    /// People who change things.
    case ops
    /// Dashboards and alerts.
    case monitor

    var runsJobs: Bool { self == .run || self == .worker }
    var runsSchedules: Bool { self == .run || self == .scheduler }
    /// A process that changes rows by itself, and so waits on a database copy.
    var isService: Bool { runsJobs || runsSchedules }
    var needsWrites: Bool { self != .web && self != .monitor }
    var seesWhatRuns: Bool { self != .web && self != .api }

    /// The function that the role must be allowed to call, and the database role with that right.
    var right: (verb: String, function: String, role: String) {
        switch self {
        case .run, .worker, .scheduler: ("work", "claim_v1", "errand_worker")
        case .web: ("read metrics", "metrics", "errand_monitor")
        case .api: ("enqueue", "enqueue", "errand_enqueuer")
        case .ops: ("change", "cancel", "errand_ops")
        case .monitor: ("look", "health", "errand_monitor")
        }
    }
}
