import Errand
import ErrandImages
import ErrandStorage
import Foundation
import Jobs
import Postgres
import Web

/// The checks of `errand doctor`. None throws: each error is a finding.
struct Diagnostics: Sendable {
    let environment: Environment
    let role: DoctorRole

    /// Runs all checks. Those of what an app needs are made if a database has the app.
    func findings() async -> [Finding] {
        var findings = await checkDatabase()
        if role.runsJobs {
            let needs = HostNeed.all(of: await installedApps())
            if needs.contains(.store) { findings += await checkStorage() }
            if !needs.isDisjoint(with: [.apns, .fcm]) { findings += await checkPushes(google: needs.contains(.fcm)) }
            if needs.contains(.images) { findings += await checkImages() }
            if needs.contains(.fonts) { findings += checkFonts() }
        }
        if role.isService || role == .web { findings += await checkAddress() }
        return findings
    }

    /// The apps of all databases. Why one can't be asked is a finding of its own checks.
    private func installedApps() async -> Set<String> {
        var apps: Set<String> = []
        for cell in (try? environment.cells()) ?? [] {
            let installed = try? await environment.withConnection(to: cell.configuration, needsSchema: false) {
                try await $0.query("select errand_internal.apps_v1()").scalar([String].self)
            }
            apps.formUnion(installed ?? [])
        }
        return apps
    }

    /// What the check finds in each database of DATABASE_URL. Throws ``ConfigurationError`` if that is malformed.
    func onEachCell(_ check: (Cell) async throws -> [Finding]) async throws -> [Finding] {
        var findings: [Finding] = []
        for cell in try environment.cells() {
            findings += try await check(cell).map { finding in
                var finding = finding
                finding.cell = cell.name
                return finding
            }
        }
        return findings
    }
}

// MARK: - This host
extension Diagnostics {
    private func checkStorage() async -> [Finding] {
        let name = "storage"
        do {
            if case .folder(let path) = try environment.settings.storageLocation(),
                !FileManager.default.fileExists(atPath: path)
            {
                return [Self.finding(ofMissingFolder: path)]
            }
            return try await onEachCell { cell in
                let identity = environment.storeIdentity(of: cell.configuration)
                let store = try environment.settings.objectStore(identity)
                let finding = await finding(of: store, name)
                await store.stop()
                return [finding]
            }
        } catch {
            return [.fail(name, "\(error)", fix: "set STORAGE_URL to a folder or a bucket: docs/storage.md")]
        }
    }

    /// A disk that isn't mounted, or a new store: the doctor only checks whether this user could create it.
    private static func finding(ofMissingFolder path: String) -> Finding {
        var above = URL(fileURLWithPath: path).standardized
        var isFolder: ObjCBool = false
        repeat {
            above.deleteLastPathComponent()
        } while above.path != "/" && !FileManager.default.fileExists(atPath: above.path)
        let exists = FileManager.default.fileExists(atPath: above.path, isDirectory: &isFolder)
        guard exists, isFolder.boolValue, FileManager.default.isWritableFile(atPath: above.path) else {
            return .fail(
                "storage", "\(path): it doesn't exist, and this user can't create it in \(above.path)",
                fix: "make it a folder of this user, or name another in STORAGE_URL")
        }
        return .warn(
            "storage", "\(path) doesn't exist: jobs that need it wait",
            fix: "mount its disk; `errand storage init` creates a new one")
    }

    private func finding(of store: any ObjectStore, _ name: String) async -> Finding {
        let location = try? environment.settings.storageLocation()
        let folder: String? = if case .folder(let path) = location { path } else { nil }
        let root = folder ?? "the bucket of STORAGE_URL"
        do {
            try await store.check()
            let key = try ObjectKey("errand-doctor-\(ProcessInfo.processInfo.processIdentifier)")
            let bytes = Array("errand doctor".utf8)
            try await store.put(bytes, at: key)
            let isSame = try await store.get(key) == bytes
            try await store.delete(key)
            guard isSame else { throw StorageError(.failed, "read other bytes than were written") }
            return .ok(name, "\(root) can be written to and read from")
        } catch let error as StorageError where error.code == .wrongStore {
            return .fail(
                name, error.detail,
                fix: "mount its disk, or correct STORAGE_URL; `errand storage init` sets up a new one")
        } catch {
            let fix =
                folder != nil
                ? "make it a folder of this user with room left, or name another in STORAGE_URL"
                : "docs/storage.md says what a bucket has to allow"
            return .fail(name, "\(root): \(error)", fix: fix)
        }
    }

    /// Whether the address for health and metrics is free. Only `errand web` fails if it isn't.
    private func checkAddress() async -> [Finding] {
        let name = "address"
        do {
            guard let address = try environment.settings.webAddress(isWeb: role == .run || role == .web) else {
                return [.ok(name, "health and metrics are not served")]
            }
            do {
                try await address.tryListening()
                return [.ok(name, "\(address) is free")]
            } catch {
                let fix = "unless Errand runs here already: let ERRAND_WEB_ADDRESS name a free address, or off"
                return [
                    role == .web
                        ? .fail(name, "\(address): \(error)", fix: fix)
                        : .warn(name, "\(address): \(error)", fix: fix)
                ]
            }
        } catch {
            return [.fail(name, "\(error)", fix: "set ERRAND_WEB_ADDRESS to host:port, or off")]
        }
    }

    /// Compresses a small photo of each input format, and makes one result of each output format.
    private func checkImages() async -> [Finding] {
        let pool = ImageProcessPool(.init(processes: 1), logger: environment.logger)
        var reads: [String] = []
        var writes: [String] = []
        var findings: [Finding] = []
        for format in ImageFormat.allCases {
            do {
                _ = try await pool.compress(SamplePhoto.bytes(format))
                reads.append(format.rawValue)
            } catch let error as ImageError where [.unavailable, .timedOut].contains(error.code) {
                await pool.stop()
                return [
                    .fail(
                        "image program", error.detail,
                        fix: "put errand-image beside errand, and apt-get install libvips42", code: Failure.unreachable
                    )
                ]
            } catch {
                findings.append(Self.lack(of: format.rawValue, "read", error))
            }
        }
        for format in ImageRequest.Format.allCases {
            var request = ImageRequest()
            request.format = format
            do {
                _ = try await pool.compress(SamplePhoto.bytes(.png), as: request)
                writes.append(format.rawValue)
            } catch {
                findings.append(Self.lack(of: format.rawValue, "written", error))
            }
        }
        await pool.stop()
        let list = "reads \(reads.joined(separator: ", ")); writes \(writes.joined(separator: ", "))"
        return [.ok("image program", "errand-image starts")]
            + (findings.isEmpty ? [.ok("image formats", list)] : findings)
    }

    private static func lack(of format: String, _ verb: String, _ error: any Error) -> Finding {
        .fail(
            "image formats", "\(format) can't be \(verb): \(error)",
            fix: "apt-get install libvips42 libheif1, with its plugins where the distribution splits them off")
    }
}
