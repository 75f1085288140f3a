import Testing

@testable import ErrandImages

@Suite("The memory that a photo takes") struct MemoryDemandTests {
    @Test("a HEIC of 48 megapixels takes ten bytes for each, a progressive JPEG four, a usual photo none")
    func demand() throws {
        let ispe = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0x1F, 0x40, 0, 0, 0x17, 0x70]
        let heic = [0, 0, 0, 0x18] + Array("ftypheic".utf8) + [UInt8](repeating: 0, count: 40) + ispe
        #expect(MemoryDemand.bytes(for: heic) == 480_000_000)
        #expect(try MemoryDemand.bytes(for: Samples.bytes(Samples.dune)) == 0)
        #expect(try MemoryDemand.bytes(for: Samples.bytes(Samples.elephants)) == 4 * 5_640 * 3_172)
    }
}
