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

/// What the handlers of all cells use, made from the settings.
struct JobServices: Sendable {
    private let environment: Environment
    private let images: ImageProcessPool
    private let pushes: PushServices
    private let photoLimit: Int
    private let middleware: [any Middleware]
    /// Nil if this process calls no endpoints.
    let endpoints: (any EndpointCaller)?

    /// Opens no connection.
    init(_ environment: Environment) throws {
        self.environment = environment
        let processes = try environment.settings.value(.imageProcesses) { Int($0) }
        images = ImageProcessPool(.init(processes: processes), logger: environment.logger)
        photoLimit = try environment.settings.value(.imageLimit, parseBytes)
        middleware = try environment.settings.payloadKeys().map { [PayloadEncryption($0)] } ?? []
        endpoints = try environment.settings.endpointCaller(environment.logger)
        pushes = try environment.settings.pushServices(environment.logger).measured
        // Gauges of each process, which show if one worker lacks the credentials.
        for (service, route) in [("apns", pushes.apns.route), ("fcm", pushes.fcm.route)] {
            Gauge(label: "errand_push_route", dimensions: [("service", service), ("route", route.rawValue)]).record(1)
        }
    }

    /// The handlers for the jobs of a cell. Opens no connection.
    func handlers(for cell: Cell) throws -> CellHandlers {
        let store = MeasuredStore(
            try environment.settings.objectStore(environment.storeIdentity(of: cell.configuration)))
        let services = AppServices(
            store: store, images: images, pushes: pushes, photoLimit: photoLimit, middleware: middleware)
        return CellHandlers(all: services.handlers, store: store, images: images)
    }

    /// Stops the child processes and closes the connections.
    func stop() async {
        await images.stop()
        await pushes.stop()
    }
}

/// The handlers for the jobs of one cell. The store and the image program are checked if the cell has an app that needs
/// them.
struct CellHandlers: Sendable {
    let all: Handlers
    fileprivate let store: any ObjectStore
    fileprivate let images: ImageProcessPool

    /// Checks the store and the image program. Jobs that need the store wait if it can't be reached or is
    /// misconfigured; those that need the program fail without it.
    ///
    /// - Throws: ``ConfigurationError`` for a bucket that keeps versions against its configuration: deleted objects
    ///   would stay there.
    func check(on database: Database, _ logger: Logger) async throws {
        guard try await database.needs(.store) else { return }
        do {
            _ = try images.program()
        } catch {
            logger.warning(
                "the image program is missing: jobs that need it fail", metadata: ["error": "\(error.detail)"])
        }
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

    /// The store and the program for photos and cards: without them, jobs that need them wait or fail, and all others
    /// run.
    func readiness(of database: Database) -> [ReadinessCheck] {
        [
            ReadinessCheck("storage", isRequired: false) {
                if try await database.needs(.store) { try await store.check() }
            },
            ReadinessCheck("images", isRequired: false) {
                if try await database.needs(.images) { _ = try images.program() }
            },
        ]
    }

    func stop() async { await store.stop() }
}

extension Database {
    /// Whether the jobs of an app of the database need this of the host.
    fileprivate func needs(_ need: HostNeed) async throws -> Bool {
        let apps = try await query("select errand_internal.apps_v1()").scalar([String].self)
        return HostNeed.all(of: Set(apps)).contains(need)
    }
}

extension Settings {
    /// The store's location: the bucket or folder of STORAGE_URL.
    func storageLocation() throws -> StorageLocation {
        let text = try value(.storageURL) { $0 }
        do {
            return try StorageLocation(url: text, credentials: storageCredentials)
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
                throw ConfigurationError("STORAGE_URL: expected a folder that can be written to, got \(error)")
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
