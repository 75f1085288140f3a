import Testing

@Suite("Isolation levels of photos") struct PhotoIsolationTests {
    @Test(
        "no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: Race.levels)
    func race(level: String) async throws { try await Race.run(Self.races, at: level, reading: "media.photo") }

    private static let races = [
        Race(
            "an original that is submitted again while it is removed", given: [compressed], delivered,
            "select media.submit('u/1.jpg')::text", "ER409", holds: "(select count(*) from media.photo) = 1"),
        Race(
            "a photo that is removed while its original is submitted again", given: [compressed, delivered, unlisted],
            "select media.submit('u/1.jpg')",
            "select media.remove(id)::text from media.photo where state = 'compressed'",
            "true", holds: "not exists (select from media.removal where key = 'u/1.jpg')"),
    ]

    private static let compressed = """
        select media.compressed_v1(photo, 'photos/1.jpg', '{}', '\\x00') from media.submit('u/1.jpg') as photo
        """

    private static let delivered = "select media.delivered_v1(id, key) from media.upload"

    private static let unlisted = "delete from media.removal"
}
