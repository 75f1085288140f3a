// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Every target of ours compiles in Swift 6 mode, and a warning fails the build.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// The READMEs of a folder that is a target: they are for people, and no source.
func readmes(in folder: String) -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(folder)
    let files = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    return files.filter { $0.hasSuffix(".md") }.sorted()
}

let package = Package(
    name: "errand",
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandTestKit", targets: ["ErrandTestKit"]),
        .library(name: "ErrandImages", targets: ["ErrandImages"]),
        .library(name: "ErrandStorage", targets: ["ErrandStorage"]),
        .library(name: "ErrandPush", targets: ["ErrandPush"]),
        .executable(name: "errand", targets: ["Command"]),
        .executable(name: "errand-image", targets: ["ImageProcess"]),
    ],
    traits: [
        .trait(name: "Web", description: "What the program `errand` answers by HTTP; no library needs it"),
        .default(enabledTraits: ["Web"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        // How tasks wait for each other.
        .target(name: "Waiting", swiftSettings: strict),

        // The database.
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "Postgres",
            dependencies: [
                "CLibpq", "Waiting",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict),

        // The schemas: a folder of SQL is a module. The same step embeds the files of the page.
        .executableTarget(name: "EmbedText", swiftSettings: strict),
        .plugin(
            name: "EmbedTextPlugin", capability: .buildTool(), dependencies: ["EmbedText"],
            path: "Sources/EmbedTextPlugin"),
        .target(
            name: "EngineSchema", dependencies: ["Postgres"], path: "sql/engine", swiftSettings: strict,
            plugins: ["EmbedTextPlugin"]),
        .target(
            name: "FrontSchema", dependencies: ["Postgres"], path: "sql/front", swiftSettings: strict,
            plugins: ["EmbedTextPlugin"]),
        .target(
            name: "AppSchemas", dependencies: ["Postgres"], path: "sql/apps", swiftSettings: strict,
            plugins: ["EmbedTextPlugin"]),

        // Pictures: only `errand-image` links libvips. The library itself makes QR codes, which reads no picture.
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CVipsSystem", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .target(
            name: "CVips", dependencies: ["CVipsSystem"],
            // Comes with libvips, which reads and writes JPEG by it.
            linkerSettings: [.linkedLibrary("jpeg")]),
        .target(
            name: "ErrandImages",
            dependencies: [
                "CPNG", "CQREncode", "Waiting",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: strict),
        .target(name: "CSandbox"),
        .executableTarget(
            name: "ImageProcess", dependencies: ["CSandbox", "CVips", "ErrandImages"], swiftSettings: strict),

        // Hashes and signatures, by the OpenSSL that libpq brings.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: strict),

        // The world outside the database.
        .target(
            name: "Outbound",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "ErrandStorage",
            dependencies: [
                "Cryptography", "Outbound",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "ErrandPush",
            dependencies: [
                "Cryptography", "Outbound",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),

        // ZIP files.
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
        .target(name: "Archives", dependencies: ["CArchive"], swiftSettings: strict),

        // The engine.
        .target(
            name: "Errand",
            dependencies: [
                "EngineSchema", "Postgres", "Waiting",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .target(
            name: "ErrandTestKit",
            dependencies: [
                "AppSchemas", "EngineSchema", "Errand", "Postgres", "Waiting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        // What a process says of itself by HTTP.
        .target(
            name: "Web",
            dependencies: [
                "Errand", "Postgres",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Web"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),

        // Where spans go.
        .target(
            name: "TraceExport",
            dependencies: [
                "Waiting",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        // The operators' page, which the web server of a process serves too.
        .target(
            name: "Dashboard",
            dependencies: [
                "Cryptography", "Errand", "Postgres", "Waiting", "Web",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache", condition: .when(traits: ["Web"])),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict, plugins: ["EmbedTextPlugin"]),

        // The jobs and the program.
        .target(name: "CProcess"),
        .target(
            name: "Jobs",
            dependencies: [
                "Archives", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Outbound", "Postgres",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "jobs", exclude: readmes(in: "jobs"), swiftSettings: strict),
        .executableTarget(
            name: "Command",
            dependencies: [
                "AppSchemas", "CProcess", "Dashboard", "EngineSchema", "Errand", "ErrandImages", "ErrandPush",
                "ErrandStorage", "FrontSchema", "Jobs", "Outbound", "Postgres", "TraceExport", "Web",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),

        // A mirror of each target, and the program as a whole.
        .testTarget(name: "WaitingTests", dependencies: ["Waiting"], swiftSettings: strict),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "Postgres", "ErrandTestKit", .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SchemaTests",
            dependencies: ["AppSchemas", "EmbedText", "EngineSchema", "ErrandTestKit", "Postgres"],
            swiftSettings: strict),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography"], swiftSettings: strict),
        .testTarget(
            name: "ErrandImagesTests",
            dependencies: ["ErrandImages", "ImageProcess", .product(name: "MetricsTestKit", package: "swift-metrics")],
            swiftSettings: strict),
        .testTarget(name: "WebTests", dependencies: ["Web", "ErrandTestKit", "Postgres"], swiftSettings: strict),
        .testTarget(
            name: "TraceExportTests",
            dependencies: [
                "TraceExport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DashboardTests",
            dependencies: [
                "Dashboard", "Web", "ErrandTestKit", "Postgres", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(name: "StorageKit", path: "Tests/StorageKit", swiftSettings: strict),
        .target(
            name: "PushKit",
            dependencies: [
                "Cryptography",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/PushKit", swiftSettings: strict),
        .testTarget(
            name: "ErrandStorageTests",
            dependencies: [
                "ErrandStorage", "Outbound", "StorageKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandPushTests",
            dependencies: [
                "Cryptography", "ErrandPush", "Outbound", "PushKit",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandTests",
            dependencies: [
                "Errand", "ErrandTestKit", .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandTestKitTests",
            dependencies: ["ErrandTestKit", "Errand", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),
        .testTarget(
            name: "JobsTests",
            dependencies: [
                "Jobs", "ErrandTestKit", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Outbound",
                "Postgres",
                "PushKit", "StorageKit",
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "Command", "ErrandTestKit", "ImageProcess", "Postgres", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "ErrandPush", "ErrandStorage", "ErrandTestKit", "Postgres", "PushKit", "StorageKit",
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict),
    ]
)
