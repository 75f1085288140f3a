import Errand
import Foundation
import Images
import Jobs
import Logging
import Outbound

/// What the jobs need, made from the settings, and the jobs themselves.
struct Parts: Sendable {
    let handlers: Handlers
    private let images: ImageProcessPool

    init(_ environment: Environment) throws {
        let processes = try environment.settings.value(.imageProcesses) { Int($0) }
        images = ImageProcessPool(.init(processes: processes), logger: environment.logger)
        let root = try environment.settings.value(.storage) { $0.isEmpty ? nil : $0 }
        let store: FolderStore
        do {
            store = try FolderStore(root: root)
        } catch {
            throw ConfigurationError("ERRAND_STORAGE: expected a folder that can be written to, got \(error)")
        }
        handlers = Handlers(AllJobs.handlers(store: store, images: images))
    }

    /// Lets the child processes go.
    func stop() async { await images.stop() }
}
