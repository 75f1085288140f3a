import NIOHTTP1
import Outbound

// MARK: - Removing, and listing
extension S3Store {
    public func delete(_ key: ObjectKey) async throws(StorageError) {
        try await confirm()
        if try await versioning.areRemoved(by: client) {
            if let error = try await removeVersions(of: [key])[key] { throw error }
            return
        }
        try await removeOne(name(key), nil)
    }

    public func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        try await confirm()
        if try await versioning.areRemoved(by: client) { return try await removeVersions(of: keys) }
        let byName = Dictionary(keys.map { (name($0), $0) }, uniquingKeysWith: { one, _ in one })
        let failed = try await remove(byName.keys.sorted().map { ($0, nil) })
        return Dictionary(uniqueKeysWithValues: failed.compactMap { name, error in byName[name].map { ($0, error) } })
    }

    public func keys(
        beginning prefix: String, after: ObjectKey?, atMost count: Int
    ) async throws(StorageError) -> [ObjectKey] {
        try await confirm()
        let root = client.configuration.prefix.isEmpty ? "" : client.configuration.prefix + "/"
        var found: [ObjectKey] = []
        var token: String?
        repeat {
            var query = [("list-type", "2"), ("prefix", root + prefix), ("max-keys", "\(min(1000, count))")]
            if let token { query.append(("continuation-token", token)) }
            if let after { query.append(("start-after", root + after.text)) }
            let page = try await client.ask(.init(method: .GET, query: query, what: "list \(prefix)"))
            for entry in page.all("Contents") {
                guard let name = entry["Key"]?.text, name.hasPrefix(root) else { continue }
                guard let key = try? ObjectKey(String(name.dropFirst(root.count))) else { continue }
                // Not every server supports start-after.
                if let after, !after.text.utf8.lexicographicallyPrecedes(key.text.utf8) { continue }
                found.append(key)
            }
            let next = page["IsTruncated"]?.text == "true" ? page["NextContinuationToken"]?.text : nil
            guard next == nil || next != token else {
                throw StorageError(.busy, "list \(prefix): goes round in circles")
            }
            token = next
        } while token != nil && found.count < count
        if found.isEmpty { try await confirmAnew() }
        return Array(found.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }.prefix(count))
    }

    public func check() async throws(StorageError) {
        // A HEAD would be enough, but its response has no error message.
        _ = try await client.ask(
            .init(
                method: .GET, query: [("list-type", "2"), ("max-keys", "1")],
                what: "bucket \(client.configuration.bucket)"))
        _ = try await versioning.areRemoved(by: client)
        try await confirmAnew()
    }

    public func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int {
        let root = name(try ObjectKey(folder: prefix)) + "/"
        try await confirm()
        let isVersioned = try await versioning.areRemoved(by: client)
        let query = isVersioned ? [("versions", "")] : [("list-type", "2")]
        let page = try await client.ask(
            .init(
                method: .GET, query: query + [("prefix", root), ("max-keys", "\(min(1000, count))")],
                what: "list \(prefix)"))
        let entries = isVersioned ? page.all("Version") + page.all("DeleteMarker") : page.all("Contents")
        let found = entries.compactMap { entry in
            (entry["Key"]?.text).map { (name: $0, version: entry["VersionId"]?.text) }
        }.filter { $0.name.hasPrefix(root) }
        if found.isEmpty {
            try await confirmAnew()
            await abortUploads(beginning: root)
            return 0
        }
        let failed = try await remove(found)
        let removed = found.count { failed[$0.name] == nil }
        // Refused objects are listed again: the error is thrown when nothing else is left.
        if removed == 0, let error = failed.values.first { throw error }
        return removed
    }

    /// Removes names, each in one version or the current one, up to 1,000 per request. Returns the error of each failed
    /// one.
    private func remove(_ objects: [(name: String, version: String?)]) async throws(StorageError) -> [String:
        StorageError]
    {
        var failed: [String: StorageError] = [:]
        for (name, version) in objects where !XMLElement.canContain(name) {
            do throws(StorageError) {
                try await removeOne(name, version)
            } catch {
                if error.fault != .ours { throw error }
                failed[name] = error
            }
        }
        var rest = objects.filter { XMLElement.canContain($0.name) }[...]
        while !rest.isEmpty {
            let batch = rest.prefix(1000)
            rest = rest.dropFirst(1000)
            let lines = batch.map { name, version in
                "<Object><Key>\(XMLElement.escaped(name))</Key>"
                    + (version.map { "<VersionId>\(XMLElement.escaped($0))</VersionId>" } ?? "") + "</Object>"
            }
            let body = S3Body(Array("<Delete><Quiet>true</Quiet>\(lines.joined())</Delete>".utf8))
            let response = try await client.ask(
                .init(
                    method: .POST, query: [("delete", "")],
                    headers: [("content-md5", body.md5), ("content-type", "application/xml")], body: body,
                    what: "delete \(batch.count) objects"))
            for error in response.all("Error") {
                let failure = S3Failure(code: error["Code"]?.text ?? "", message: error["Message"]?.text ?? "")
                let name = error["Key"]?.text ?? ""
                if ["NoSuchKey", "NoSuchVersion"].contains(failure.code) { continue }
                failed[name] = failure.error("delete \(name)", hiding: client.configuration.credentials)
            }
            guard response.name == "DeleteResult" else {
                throw StorageError(.busy, "delete \(batch.count) objects: expected DeleteResult, got \(response.name)")
            }
        }
        return failed
    }

    private func removeOne(_ name: String, _ version: String?) async throws(StorageError) {
        do throws(StorageError) {
            let query = version.map { [(name: "versionId", value: $0)] } ?? []
            _ = try await client.send(.init(method: .DELETE, key: name, query: query, what: "delete \(name)"))
        } catch  where error.code == .notFound {
            // Some servers return 404 where Amazon's returns 204.
            return
        }
    }

    private func removeVersions(of keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        var failed: [ObjectKey: StorageError] = [:]
        for key in keys {
            do throws(StorageError) {
                let versions = try await versions(of: name(key))
                if let error = try await remove(versions.map { (name(key), $0) })[name(key)] { failed[key] = error }
            } catch {
                if error.fault != .ours { throw error }
                failed[key] = error
            }
        }
        return failed
    }

    /// The ids of all versions of an object, including delete markers.
    private func versions(of name: String) async throws(StorageError) -> [String] {
        var found: [String] = []
        var markers: [(name: String, value: String)] = []
        while true {
            let page = try await client.ask(
                .init(method: .GET, query: [("versions", ""), ("prefix", name)] + markers, what: "versions of \(name)"))
            let entries = page.all("Version") + page.all("DeleteMarker")
            found += entries.filter { $0["Key"]?.text == name }.compactMap { $0["VersionId"]?.text }
            guard page["IsTruncated"]?.text == "true", let key = page["NextKeyMarker"]?.text,
                // Sorted by name: other objects follow.
                !name.utf8.lexicographicallyPrecedes(key.utf8)
            else { return found }
            let next = [("key-marker", key), ("version-id-marker", page["NextVersionIdMarker"]?.text ?? "")]
            guard markers.map(\.value) != next.map(\.1) else {
                throw StorageError(.busy, "versions of \(name): goes round in circles")
            }
            markers = next
        }
    }
}
