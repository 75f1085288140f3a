import ErrandImages
import Testing

@Suite("The sides of a picture") struct PixelSizeTests {
    @Test(
        "keep their proportions, to the nearest pixel, and never grow",
        arguments: [
            (4_000, 3_000, 2_560, 2_560, 1_920), (3_651, 5_477, 2_560, 1_707, 2_560), (300, 200, 2_560, 300, 200),
            (1, 65_535, 2_560, 1, 2_560), (65_535, 1, 16, 16, 1),
        ])
    func within(width: Int, height: Int, edge: Int, newWidth: Int, newHeight: Int) {
        #expect(
            PixelSize(width: width, height: height).within(edge) == PixelSize(width: newWidth, height: newHeight))
    }
}
