import ErrandTestKit
import Postgres
import Testing

@testable import Command

@Suite("Unique keys for a time, on a front of many cells") struct CellUniqueTests {
    @Test("each rule holds over all cells")
    func rules() async throws {
        try await withFront(cells: 2) { front in
            let database = front.database
            let options = [
                "unique_for => '1 hour'", "unique_while => 'waiting'", "on_conflict => 'merge'",
                "on_conflict => 'supersede'", "on_conflict => 'reschedule', no_later_than => '1 hour'",
            ]
            for (number, option) in options.enumerated() {
                let results = try await database.query(
                    Statement(
                        """
                        select array_agg(inserted order by key, round)
                        from generate_series(1, 5) as key, generate_series(1, 2) as round,
                            errand.enqueue('noop', to_jsonb(array[round]), unique_key => format('%s/%s', $1::int, key), \(option))
                        """, [number])
                ).scalar([Bool].self)
                #expect(results == (0..<10).map { $0 % 2 == 0 }, "\(option)")
            }
            let added = try await database.query(
                """
                select array_agg(inserted order by ordinal)
                from errand.enqueue_many(
                    '[{"kind": "noop", "unique_key": "0/1", "unique_for": "1 hour"},
                      {"kind": "noop", "unique_key": "0/7", "unique_for": "1 hour"}]')
                """
            ).scalar([Bool].self)
            #expect(added == [false, true])
        }
    }
}
