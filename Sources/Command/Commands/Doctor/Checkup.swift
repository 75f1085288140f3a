import Errand
import Foundation
import Images
import Outbound
import Postgres

/// The checks of `errand doctor`. None throws: what goes wrong is what it finds.
struct Checkup: Sendable {
    let environment: Environment

    var checks: [@Sendable () async -> [Finding]] {
        [checkDatabase, checkZones, checkStorage, checkImages]
    }
}

// MARK: - This host
extension Checkup {
    @Sendable private func checkZones() async -> [Finding] {
        do {
            _ = try Zone(named: "Europe/Paris")
            return [.ok("time zones", "tzdata \(Zone.dataVersion ?? "of an unknown version")")]
        } catch {
            return [.fail("time zones", "\(error)", mend: "apt-get install tzdata")]
        }
    }

    @Sendable private func checkStorage() async -> [Finding] {
        let name = "storage"
        let store: any ObjectStore
        do {
            store = try environment.settings.objectStore()
        } catch {
            return [.fail(name, "\(error)", mend: "set ERRAND_STORAGE to a folder, or STORAGE_URL: docs/storage.md")]
        }
        let finding = await finding(of: store, name)
        await store.stop()
        return [finding]
    }

    private func finding(of store: any ObjectStore, _ name: String) async -> Finding {
        let url = environment.settings.value(.storageURL)
        let root = url == nil ? environment.settings.value(.storage)?.text ?? "" : "the store of STORAGE_URL"
        do {
            try await store.check()
            let key = try ObjectKey("errand-doctor-\(ProcessInfo.processInfo.processIdentifier)")
            let bytes = Array("errand doctor".utf8)
            try await store.put(bytes, at: key)
            let isSame = try await store.get(key) == bytes
            try await store.delete(key)
            guard isSame else { throw StorageError(.failed, "read something else than was written") }
            return .ok(name, "\(root) can be written to and read from")
        } catch {
            let mend =
                url == nil
                ? "make it a folder of this user with room left, or name another in ERRAND_STORAGE"
                : "docs/storage.md says what a bucket has to allow"
            return .fail(name, "\(root): \(error)", mend: mend)
        }
    }

    /// Has a small photo of each format compressed, and one result of each format made.
    @Sendable private func checkImages() async -> [Finding] {
        let pool = ImageProcessPool(.init(processes: 1), logger: environment.logger)
        var reads: [String] = []
        var writes: [String] = []
        var findings: [Finding] = []
        for format in ImageFormat.allCases {
            do {
                _ = try await pool.compress(SamplePhoto.bytes(format))
                reads.append(format.rawValue)
            } catch let error as ImageError where error.code == .unavailable {
                await pool.stop()
                return [
                    .fail(
                        "image program", error.detail,
                        mend: "put errand-image beside errand, and apt-get install libvips42", code: Failure.unreachable
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
            mend: "apt-get install libvips42 libheif1, with its plugins where the distribution splits them off")
    }
}
