import ErrandTestKit
import Foundation
import Testing

@testable import Postgres

@Suite("Values") struct CodecTests {
    @Test("a JSON document is printed as its text")
    func printsJSON() { #expect("\(JSONB(#"{"a": [1, "ä"]}"#))" == #"{"a": [1, "ä"]}"#) }

    @Test("every type comes back as it was sent, with its extremes, NULL and empty ones")
    func roundTrips() async throws {
        try await withTestDatabase { database, _ in
            func check<T: PostgresEncodable & PostgresDecodable & Equatable>(_ values: T...) async throws {
                for value in values {
                    #expect(try await database.query(Statement("select $1", [value])).scalar(T.self) == value)
                    #expect(
                        try await database.query(Statement("select $1", [[value, value]])).scalar([T].self) == [
                            value, value,
                        ])
                    let optional = try await database.query(Statement("select $1", [[value, nil]])).scalar([T?].self)
                    #expect(optional == [value, nil])
                }
                #expect(try await database.query(Statement("select $1", [T?.none])).scalar(T?.self) == nil)
                #expect(try await database.query(Statement("select $1", [[T]()])).scalar([T].self) == [])
            }
            try await check(true, false)
            try await check(Int16.min, 0, .max)
            try await check(Int32.min, 0, .max)
            try await check(Int64.min, 0, .max)
            try await check(0.0, -1.5, .infinity, .greatestFiniteMagnitude)
            try await check("", "a", "ä 🙂 'quoted' \\ \n", String(repeating: "x", count: 100_000))
            try await check(UUID())
            try await check(Timestamp.infinity, .minusInfinity, Timestamp(microseconds: 0), Timestamp(.now))
            try await check(JSONB("{}"), JSONB(#"{"a": [1, null, "ä"]}"#))
            try await check(Bytes([]), Bytes([0, 1, 255]))
        }
    }

    @Test("times agree with the server's, to the microsecond")
    func times() async throws {
        try await withTestDatabase { database, _ in
            let time = try await database.query("select timestamptz '2026-11-21 06:27:53.553153+00'").scalar(
                Timestamp.self)
            #expect(time.description == "2026-11-21T06:27:53.553Z")
            #expect(time.microseconds % 1_000_000 == 553_153)
            #expect(time + .microseconds(1) > time)
            #expect(Timestamp.infinity + .seconds(-5) == .infinity)
            #expect(Timestamp(Date.distantFuture + 1e300) == .infinity)
        }
    }

    @Test("the farthest times and the longest spans are no trap")
    func extremes() {
        #expect(Timestamp.minusInfinity.date < .distantPast)
        #expect(Timestamp.infinity.date > .distantFuture)
        #expect((Timestamp.infinity - .minusInfinity).wholeMicroseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeMicroseconds == .min)
        #expect(Duration.microseconds(-1_500_001).wholeMicroseconds == -1_500_001)
        #expect(Timestamp(microseconds: 0) + .seconds(Int64.max) == .infinity)
        #expect(Timestamp(microseconds: -1) + .seconds(Int64.min) == .minusInfinity)
    }

    @Test("NULL and empty values keep their indexes in an array, and the server distinguishes them")
    func arrays() async throws {
        try await withTestDatabase { database, _ in
            let mixed: [String?] = ["", nil, "a", nil]
            let row = try await database.query(
                Statement(
                    "select $1, array_length($1, 1), array_position($1, null), $1[1] = '', cardinality($2)",
                    [mixed, [JSONB]()]))[0]
            let (back, length, firstNull, isEmpty, none) = try row.decode(
                [String?].self, Int.self, Int.self, Bool.self, Int.self)
            #expect(back == mixed && length == 4 && firstNull == 2 && isEmpty && none == 0)
            let null = try await database.query("select array[1, null]::int8[]")
            let error = #expect(throws: PostgresError.self) { try null.scalar([Int].self) }
            #expect(error?.detail == "column array: expected Int64, got NULL")
            let grid = try await database.query("select array[[1], [2]]::int8[]")
            #expect(throws: PostgresError.self) { try grid.scalar([Int].self) }
        }
    }

    @Test("a column of another type is rejected, with the column, the expected type and its type")
    func wrongType() async throws {
        try await withTestDatabase { database, _ in
            let rows = try await database.query("select 'text'::text as name, null::int8 as id, 1 as short")
            let wrong = #expect(throws: PostgresError.self) { try rows[0].decode(Int64.self) }
            #expect(wrong?.detail == "column name: expected Int64, got type 25")
            let null = #expect(throws: PostgresError.self) { try rows[0].decode(String.self, Int64.self) }
            #expect(null?.detail == "column id: expected Int64, got NULL")
            let tooMany = #expect(throws: PostgresError.self) {
                try rows[0].decode(String.self, Int64?.self, Int.self, Int.self)
            }
            #expect(tooMany?.detail == "column 4: expected Int, got a row of 3 columns")
            #expect(throws: PostgresError.self) {
                try rows.dropFirst().first.map { try $0.decode(Int.self) } ?? rows.scalar(Int.self)
            }
        }
    }

    @Test("a snapshot lists the running transactions")
    func snapshot() async throws {
        try await withTestDatabase { database, _ in
            try await database.transaction { transaction in
                let id = try await transaction.query("select pg_current_xact_id()::text::int8").scalar(Int64.self)
                // This one finishes after the open one has begun, so the snapshot extends beyond it.
                try await database.execute("select pg_current_xact_id()")
                let snapshot = try await database.query("select pg_current_snapshot()").scalar(Snapshot.self)
                #expect(snapshot.running.contains(UInt64(id)))
                #expect(snapshot.xmin <= UInt64(id) && UInt64(id) < snapshot.xmax)
            }
        }
    }
}
