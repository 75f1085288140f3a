import Foundation

extension Zone {
    /// Where systems keep their time-zone data.
    private static let folders = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"]

    /// Rules are expanded up to the end of this year. After it, the offset no longer changes.
    private static let lastYear = 2199

    /// Reads a zone by its IANA name, such as `Europe/Paris`. Costs some 50 µs: keep it.
    ///
    /// - Throws: ``ScheduleError`` if the system has no such zone, or no time-zone data at all (`tzdata` is
    ///   missing).
    public init(named name: String) throws(ScheduleError) {
        if name == "UTC" {
            self = .utc
            return
        }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { $0.isLetterOrDigit || "_+-".utf8.contains($0) }
        }
        guard isName else { throw Self.unknown(name) }
        guard let folder = Self.folders.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw ScheduleError(
                "time zone", expected: "time-zone data in \(Self.folders[0]) (install tzdata)", came: "none")
        }
        guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else { throw Self.unknown(name) }
        try self.init(name: name, file: [UInt8](data))
    }

    /// The version of the system's time-zone data, such as `2025b`; nil if it doesn't say.
    public static var dataVersion: String? {
        for folder in folders {
            guard let file = FileHandle(forReadingAtPath: "\(folder)/tzdata.zi"),
                let head = try? file.read(upToCount: 40),
                let line = String(bytes: head, encoding: .utf8)?.split(separator: "\n").first
            else { continue }
            return line.hasPrefix("# version ") ? String(line.dropFirst(10)) : nil
        }
        return nil
    }

    private static func unknown(_ name: String) -> ScheduleError {
        ScheduleError("time zone", expected: "an IANA name such as Europe/Paris", came: name)
    }

    /// Reads a file of RFC 8536 (TZif), version 2 or later: changes up to some year, and a rule for the time after.
    init(name: String, file: [UInt8]) throws(ScheduleError) {
        let damaged = ScheduleError("time zone \(name)", expected: "a TZif file of version 2 or later", came: "another")
        var reader = BigEndianReader(bytes: file)
        // The file has everything twice: first in 32 bits, which are obsolete.
        guard let old = Header(&reader), reader.skip(old.size(ofTime: 4)), let header = Header(&reader),
            header.leaps == 0,
            header.types > 0
        else { throw damaged }
        var changes: [Int64] = []
        for _ in 0..<header.changes {
            guard let change = reader.integer(bytes: 8) else { throw damaged }
            changes.append(change)
        }
        guard let kinds = reader.take(header.changes) else { throw damaged }
        var types: [Int64] = []
        for _ in 0..<header.types {
            guard let offset = reader.integer(bytes: 4), reader.skip(2) else { throw damaged }
            types.append(offset)
        }
        guard kinds.allSatisfy({ $0 < types.count }), zip(changes, changes.dropFirst()).allSatisfy(<),
            reader.skip(header.characters + header.standard + header.universal), reader.skip(1)
        else { throw damaged }
        var offsets = [types[0]] + kinds.map { types[Int($0)] }
        let footer = String(decoding: reader.rest.prefix { $0 != 10 }, as: UTF8.self)
        if !footer.isEmpty {
            guard let rule = ZoneRule(footer) else { throw damaged }
            for (change, offset) in rule.changes(after: changes.last, through: Self.lastYear) {
                changes.append(change)
                offsets.append(offset)
            }
        }
        self.init(name: name, offsets: offsets, changes: changes)
    }
}

/// The counts at the head of each half of a TZif file.
private struct Header {
    let universal: Int
    let standard: Int
    let leaps: Int
    let changes: Int
    let types: Int
    let characters: Int

    init?(_ reader: inout BigEndianReader) {
        guard let magic = reader.take(4), magic.elementsEqual("TZif".utf8), let version = reader.take(1)?.first,
            version >= 50, reader.skip(15)
        else { return nil }
        var counts: [Int] = []
        for _ in 0..<6 {
            guard let count = reader.integer(bytes: 4), (0...100_000).contains(count) else { return nil }
            counts.append(Int(count))
        }
        universal = counts[0]
        standard = counts[1]
        leaps = counts[2]
        changes = counts[3]
        types = counts[4]
        characters = counts[5]
    }

    func size(ofTime width: Int) -> Int {
        changes * (width + 1) + types * 6 + characters + leaps * (width + 4) + standard + universal
    }
}

private struct BigEndianReader {
    var rest: ArraySlice<UInt8>

    init(bytes: [UInt8]) { rest = bytes[...] }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func skip(_ count: Int) -> Bool { take(count) != nil }

    /// A signed number of 4 or 8 bytes.
    mutating func integer(bytes count: Int) -> Int64? {
        guard let bytes = take(count) else { return nil }
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return count == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (48...57).contains(self) || (65...90).contains(self) || (97...122).contains(self)
    }
}
