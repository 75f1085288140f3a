import Images
import Logging
import Testing

@Suite("Compressing") struct CompressingTests {
    @Test("a photo comes out below the limit", arguments: ["nature/Dune.jpg", "abstract/Elephants_5640x3172.jpg"])
    func photo(name: String) async throws {
        let pool = ImageProcessPool(.init(executable: Products.errandImage), logger: Logger(label: "test"))
        let photo = try ImageFile.read("/usr/share/backgrounds/mate/" + name, atMost: 100 << 20)
        let (report, bytes) = try await pool.compress(photo)
        #expect(bytes.count < 500_000)
        #expect(report.bytes == bytes.count)
        #expect(report.encodes <= 3)
    }
}
