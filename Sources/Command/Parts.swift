import Errand
import Foundation
import Images
import Jobs
import Logging
import Outbound

/// What the jobs need, made from the settings, and the jobs themselves.
struct Parts: Sendable {
    let handlers: Handlers
    let schedules: [ScheduleDefinition]
    private let images: ImageProcessPool

    init(_ environment: Environment) throws {
        let processes = try environment.settings.value(.imageProcesses) { Int($0).flatMap { $0 > 0 ? $0 : nil } }
        images = ImageProcessPool(.init(processes: processes), logger: environment.logger)
        handlers = Handlers([])
        schedules = []
    }

    /// Lets the child processes go.
    func stop() async { await images.stop() }
}
