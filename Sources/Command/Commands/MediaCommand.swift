import ArgumentParser
import ErrandStorage

struct MediaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media", abstract: "Objects in the photo store.", subcommands: [MediaURLCommand.self])
}

struct MediaURLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "url",
        abstract: "Print a URL by which anyone may read an object for a while; of several keys a line each.",
        discussion: """
            errand media url photos/6c1d0000-0000-4000-8000-000000000001.jpg --expires 3600
            errand media url photos/1.jpg events/6c1d/archives/2.zip

            The URL is signed with the keys of the bucket in STORAGE_URL, and is a secret: it lets anyone read the \
            object until it expires. Needs no database and sends nothing, so an object that doesn't exist has a URL too. \
            A folder has no URLs.
            """)

    @Argument(help: "The objects' keys, such as result_key in media.photo_status.")
    var keys: [String]

    @Option(help: "Seconds until it expires, 1 to 604800: 7 days.")
    var expires = 900

    func validate() throws {
        guard (1...604_800).contains(expires) else {
            throw ValidationError("--expires: expected 1 to 604800 seconds, got \(expires)")
        }
        for key in keys {
            do { _ = try ObjectKey(key) } catch { throw ValidationError("\(error.detail)") }
        }
    }

    func run() async throws {
        guard case .bucket(let configuration) = try Environment.load().settings.storageLocation() else {
            throw Failure(
                code: Failure.misconfigured, "STORAGE_URL: expected a bucket, got a folder, whose objects have no URLs")
        }
        do {
            let store = try S3Store(configuration)
            let urls = try keys.map { try store.presignedURL(of: try ObjectKey($0), for: .seconds(expires)) }
            await store.stop()
            for url in urls { print(url) }
        } catch {
            throw Failure(code: Failure.misconfigured, "\(error)")
        }
    }
}
