import ErrandImages
import Logging

// shrink SOURCE DESTINATION: a WebP of fewer than 200,000 bytes, with at most 1,600 pixels on its longer side.
let (source, destination) = (CommandLine.arguments[1], CommandLine.arguments[2])
var request = ImageRequest()
request.maxBytes = 200_000
request.maxEdge = 1_600
request.format = .webp

let images = ImageProcessPool(logger: Logger(label: "shrink"))
do {
    let report = try await images.compress(file: source, to: destination, as: request)
    print("\(report.sourceBytes) bytes became \(report.bytes): \(report.width) x \(report.height) pixels")
} catch let error as ImageError where error.isPermanent {
    print("this photo can't be compressed: \(error)")
}
await images.stop()
