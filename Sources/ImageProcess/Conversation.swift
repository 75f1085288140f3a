import CSandbox
import CVips
import ErrandImages
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#endif

/// Greets, and answers orders until the input ends.
struct Conversation {
    let input: Int32
    let output: Int32

    func run() {
        say(Greeting(libvips: String(cString: cvips_version())))
        while let order = nextOrder() {
            guard let photo = take(order.bytes) else { return }
            sandbox_give_way()
            // The soft limit of the kernel, and so it ends the process and not the photo alone.
            sandbox_allow_seconds(order.seconds)
            let outcome = photo.withUnsafeBytes { bytes in
                Result { () throws(ImageError) in try Compression(photo: bytes, request: order.request).run() }
            }
            switch outcome {
            case .success(let (report, bytes)):
                say(Answer(report: report, bytes: bytes.count, peakBytes: sandbox_peak_bytes()), then: bytes)
            case .failure(let error):
                say(Answer(error: error, peakBytes: sandbox_peak_bytes()))
            }
        }
    }

    private func nextOrder() -> Order? {
        // Memory is kept while one photo follows another, and not for hours.
        var input = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        if poll(&input, 1, 1_000) == 0 { cvips_give_back_memory() }
        guard let start = take(4), let length = Frame.headerLength(start), let json = take(length) else { return nil }
        return try? Frame.header(Order.self, from: json)
    }

    private func say(_ header: some Encodable, then bytes: [UInt8] = []) {
        guard let head = try? Frame.head(header) else { return }
        let writer = FileHandleWriter(descriptor: output)
        writer.write(head)
        writer.write(bytes)
    }

    /// The next `count` bytes of the input; nil where it ends before.
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

/// Writes to a descriptor until all is written. Where the other side is gone, there is nobody left to tell.
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
