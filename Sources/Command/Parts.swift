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
    private let store: any ObjectStore

    /// Opens no connection.
    init(_ environment: Environment) throws {
        let processes = try environment.settings.value(.imageProcesses) { Int($0) }
        images = ImageProcessPool(.init(processes: processes), logger: environment.logger)
        store = try environment.settings.objectStore()
        let keptFrom = try environment.settings.value(.eventsKeptFrom) { EventsKeptFrom(rawValue: $0) }
        handlers = Handlers(AllJobs.handlers(store: store, images: images, eventsKeptFrom: keptFrom))
    }

    /// Looks whether the store is as it has to be. One that can't be reached, or has to be mended, is waited for by the jobs
    /// that need it.
    ///
    /// - Throws: ``ConfigurationError`` for a bucket that keeps versions though they may not be kept: nothing that is
    ///   deleted there would be gone.
    func check(_ logger: Logger) async throws {
        do throws(StorageError) {
            try await store.check()
        } catch  where error.code == .keepsVersions {
            throw ConfigurationError("STORAGE_URL: \(error.detail)")
        } catch {
            logger.log(
                level: error.fault == .configuration ? .error : .warning,
                "the object store can't be used yet: jobs that need it wait", metadata: ["error": "\(error)"])
        }
    }

    /// Lets the child processes and the connections go.
    func stop() async {
        await images.stop()
        await store.stop()
    }
}

extension Settings {
    /// The object store: the bucket or folder of STORAGE_URL, else the folder of ERRAND_STORAGE.
    func objectStore() throws -> any ObjectStore {
        let location: StorageLocation
        if let (url, _) = value(.storageURL) {
            do {
                location = try StorageLocation(url: url, credentials: storageCredentials)
            } catch {
                throw ConfigurationError("STORAGE_URL: \(error)")
            }
        } else {
            location = .folder(path: try value(.storage) { $0 })
        }
        switch location {
        case .folder(let path):
            do throws(StorageError) {
                return try FolderStore(root: path)
            } catch {
                let variable = value(.storageURL) == nil ? "ERRAND_STORAGE" : "STORAGE_URL"
                throw ConfigurationError("\(variable): expected a folder that can be written to, got \(error)")
            }
        case .bucket(let configuration):
            do throws(StorageError) {
                return try S3Store(configuration)
            } catch {
                throw ConfigurationError("STORAGE_URL: \(error.detail)")
            }
        }
    }

    private var storageCredentials: Credentials? {
        guard let (access, _) = value(.storageAccessKey), let (secret, _) = value(.storageSecretKey) else { return nil }
        return Credentials(
            accessKey: access, secretKey: secret, sessionToken: value(.storageSessionToken)?.text)
    }
}
