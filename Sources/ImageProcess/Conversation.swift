import CSandbox
import CVips
import ErrandImages
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#endif

/// Sends a hello, and replies to requests until the input ends.
struct Conversation {
    let input: Int32
    let output: Int32
    /// Whether requests are for cards; else for photos.
    let drawsCards: Bool

    func run() {
        say(HelloMessage(libvips: String(cString: cvips_version())))
        while let request = nextRequest() {
            guard let photo = take(request.bytes) else { return }
            sandbox_give_way()
            // The kernel's soft limit: it ends the process, not only the photo.
            sandbox_allow_seconds(request.seconds)
            let outcome = Result { () throws(ImageError) in try run(request, photo) }
            switch outcome {
            case .success(let made):
                let (report, bytes) = (made.result.report, made.result.bytes)
                let response = ResponseMessage(
                    report: report, variants: made.variants.mapValues(\.report), decodes: made.decodes,
                    bytes: bytes.count, peakBytes: sandbox_peak_bytes())
                let files = made.variants.sorted { $0.key < $1.key }.map(\.value.bytes)
                say(response, then: [bytes] + files)
            case .failure(let error):
                say(ResponseMessage(error: error, peakBytes: sandbox_peak_bytes()))
            }
        }
    }

    private func run(_ request: RequestMessage, _ photo: [UInt8]) throws(ImageError) -> ImageResults {
        guard drawsCards == (request.card != nil) else {
            throw ImageError(.invalidRequest, drawsCards ? "this process draws cards" : "this process draws no cards")
        }
        if let card = request.card {
            let (report, bytes) = try Card(card).encoded(as: request.request)
            return ImageResults(result: ImageResult(report: report, bytes: bytes), variants: [:], decodes: 0)
        }
        let outcome = photo.withUnsafeBytes { bytes in
            Result { () throws(ImageError) in
                try Compression(photo: bytes, request: request.request, variants: request.variants).run()
            }
        }
        return try outcome.get()
    }

    private func nextRequest() -> RequestMessage? {
        // Memory is kept between consecutive photos, but not for hours.
        var input = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        if poll(&input, 1, 1_000) == 0 { cvips_give_back_memory() }
        guard let start = take(4), let length = Frame.headerLength(start), let json = take(length) else { return nil }
        return try? Frame.header(RequestMessage.self, from: json)
    }

    private func say(_ header: some Encodable, then files: [[UInt8]] = []) {
        guard let head = try? Frame.head(header) else { return }
        let writer = FileHandleWriter(descriptor: output)
        writer.write(head)
        for bytes in files { writer.write(bytes) }
    }

    /// The next `count` bytes of the input; nil if it ends before.
    private func take(_ count: Int) -> [UInt8]? {
        guard count >= 0 else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = read(input, buffer.baseAddress! + filled, count - filled)
                if got <= 0 { break }
                filled += got
            }
        }
        return bytes.count == count ? bytes : nil
    }
}

/// Writes to a descriptor until all is written. If the reader is gone, the error is ignored.
struct FileHandleWriter {
    let descriptor: Int32

    func write(_ bytes: [UInt8]) {
        var written = 0
        bytes.withUnsafeBytes { buffer in
            while written < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress! + written, buffer.count - written)
                if count <= 0 { return }
                written += count
            }
        }
    }
}
