import CoreMetrics
import Errand
import ErrandImages
import ErrandPush
import ErrandStorage
import Foundation
import Jobs
import Logging
import Outbound
import Web

/// The handlers, and the services that they need, made from the settings.
struct JobServices: Sendable {
    let handlers: Handlers
    private let images: ImageProcessPool
    private let store: any ObjectStore
    private let pushes: PushServices
    private let apps: Set<AllJobs.App>

    /// Opens no connection.
    init(_ environment: Environment) throws {
        let processes = try environment.settings.value(.imageProcesses) { Int($0) }
        images = ImageProcessPool(.init(processes: processes), logger: environment.logger)
        store = MeasuredStore(try environment.settings.objectStore(environment.storeIdentity))
        let photoLimit = try environment.settings.value(.imageLimit, parseBytes)
        let keptFrom = try environment.settings.value(.eventsKeptFrom) { EventsKeptFrom(rawValue: $0) }
        pushes = try environment.settings.pushServices(environment.logger).measured
        // Gauges of each process, which show if one worker lacks the credentials.
        for (service, route) in [("apns", pushes.apns.route), ("fcm", pushes.fcm.route)] {
            Gauge(label: "errand_push_route", dimensions: [("service", service), ("route", route.rawValue)]).record(1)
        }
        apps = try environment.jobApps()
        handlers = Handlers(
            AllJobs.handlers(
                of: apps, store: store, images: images, pushes: pushes, eventsKeptFrom: keptFrom, photoLimit: photoLimit
            ),
            noopMayCrash: try environment.settings.value(.noopCrash) { $0 == "allow" })
    }

    /// Checks the store. If it can't be reached or is misconfigured, jobs that need it wait.
    ///
    /// - Throws: ``ConfigurationError`` for a bucket that keeps versions against its configuration: deleted objects
    ///   would stay there.
    func check(_ logger: Logger) async throws {
        guard apps.contains(.media) else { return }
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

    /// The program for photos and the store. Without them, jobs that need them wait or fail, and all others run.
    var readiness: [ReadinessCheck] {
        guard apps.contains(.media) else { return [] }
        return [
            ReadinessCheck.showing("images", isRequired: false) { try images.program() },
            ReadinessCheck("storage", isRequired: false) { try await store.check() },
        ]
    }

    /// Stops the child processes and closes the connections.
    func stop() async {
        await images.stop()
        await store.stop()
        await pushes.stop()
    }
}

extension Settings {
    /// The store's location: the bucket or folder of STORAGE_URL, or else the folder of ERRAND_STORAGE.
    func storageLocation() throws -> StorageLocation {
        guard let (url, _) = value(.storageURL) else { return .folder(path: try value(.storage) { $0 }) }
        do {
            return try StorageLocation(url: url, credentials: storageCredentials)
        } catch {
            throw ConfigurationError("STORAGE_URL: \(error)")
        }
    }

    /// The object store at ``storageLocation()``.
    ///
    /// - Parameter identity: the expected identity; nil if any store is accepted. Then a missing folder is created.
    func objectStore(_ identity: StoreIdentity? = nil) throws -> any ObjectStore {
        switch try storageLocation() {
        case .folder(let path):
            do throws(StorageError) {
                return try FolderStore(root: path, identity: identity)
            } catch {
                let variable = value(.storageURL) == nil ? "ERRAND_STORAGE" : "STORAGE_URL"
                throw ConfigurationError("\(variable): expected a folder that can be written to, got \(error)")
            }
        case .bucket(let configuration):
            do throws(StorageError) {
                return try S3Store(configuration, identity: identity)
            } catch {
                throw ConfigurationError("STORAGE_URL: \(error.detail)")
            }
        }
    }

    private var storageCredentials: S3Credentials? {
        guard let (access, _) = value(.storageAccessKey), let (secret, _) = value(.storageSecretKey) else { return nil }
        return S3Credentials(
            accessKey: access, secretKey: secret, sessionToken: value(.storageSessionToken)?.text)
    }
}
