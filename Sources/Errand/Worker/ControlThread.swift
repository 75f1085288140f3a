import Dispatch

/// A thread for what keeps the lease, beside Swift's shared threads, all of which handlers may block.
final class ControlThread: TaskExecutor {
    private let queue = DispatchQueue(label: "errand.control")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
