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

/// The examples compile as a reader's package does.
let plain: [SwiftSetting] = [.swiftLanguageMode(.v6)]

/// The paths of what lies below a folder, in it.
func paths(in folder: String) -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(folder)
    return (FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []).sorted()
}

/// What is no source of a folder that is a target: READMEs, which are for people, and SQL that tests read.
func texts(in folder: String) -> [String] { paths(in: folder).filter { $0.hasSuffix(".md") || $0.hasSuffix(".sql") } }

/// An app's end-to-end tests lie in its own folder, and are compiled with the others.
let appsEndToEnd = paths(in: "Tests/JobsTests").filter { $0.hasSuffix("/EndToEndTests") }
let exceptEndToEnd = paths(in: "Tests").filter { $0.contains(".") && !"/\($0)".contains("/EndToEndTests/") }

/// The products of other packages that several targets use.
extension Target.Dependency {
    static let argumentParser = product(name: "ArgumentParser", package: "swift-argument-parser")
    static let asyncHTTPClient = product(name: "AsyncHTTPClient", package: "async-http-client")
    static let coreMetrics = product(name: "CoreMetrics", package: "swift-metrics")
    static let logging = product(name: "Logging", package: "swift-log")
    static let metrics = product(name: "Metrics", package: "swift-metrics")
    static let metricsTestKit = product(name: "MetricsTestKit", package: "swift-metrics")
    static let nioCore = product(name: "NIOCore", package: "swift-nio")
    static let nioHTTP1 = product(name: "NIOHTTP1", package: "swift-nio")
    static let nioPosix = product(name: "NIOPosix", package: "swift-nio")
    static let nioSSL = product(name: "NIOSSL", package: "swift-nio-ssl")
    static let serviceLifecycle = product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
    static let subprocess = product(name: "Subprocess", package: "swift-subprocess")
    static let systemPackage = product(name: "SystemPackage", package: "swift-system")
    static let tracing = product(name: "Tracing", package: "swift-distributed-tracing")
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
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    ],
    targets: [
        // How tasks wait for each other.
        .target(name: "Waiting", swiftSettings: strict),

        // What the command line and the page show of each view.
        .target(name: "Listings", swiftSettings: strict),

        // The database.
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "Postgres",
            dependencies: ["CLibpq", "Waiting", .logging, .metrics],
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
            dependencies: ["CPNG", "CQREncode", "Waiting", .subprocess, .systemPackage, .logging, .coreMetrics],
            swiftSettings: strict),
        .target(name: "CSandbox"),
        .executableTarget(
            name: "ImageProcess", dependencies: ["CProcess", "CSandbox", "CVips", "ErrandImages"],
            swiftSettings: strict),

        // Hashes, signatures and encryption, by the OpenSSL that libpq brings.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: strict),

        // The world outside the database.
        .target(
            name: "Outbound",
            dependencies: [.asyncHTTPClient, .nioCore, .nioPosix, .nioSSL],
            swiftSettings: strict),
        .target(
            name: "ErrandStorage",
            dependencies: [
                "Cryptography", "Outbound", .asyncHTTPClient, .metrics, .nioCore, .nioHTTP1, .nioSSL,
            ],
            swiftSettings: strict),
        .target(
            name: "ErrandPush",
            dependencies: [
                "Cryptography", "Outbound", .asyncHTTPClient, .logging, .metrics, .nioCore, .nioHTTP1, .nioSSL,
            ],
            swiftSettings: strict),

        // ZIP files.
        .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
        .target(name: "Archives", dependencies: ["CArchive"], swiftSettings: strict),

        // The engine.
        .target(
            name: "Errand",
            dependencies: [
                "Cryptography", "EngineSchema", "Postgres", "Waiting", .coreMetrics, .logging, .serviceLifecycle,
                .tracing,
            ],
            swiftSettings: strict),
        .target(
            name: "ErrandTestKit",
            dependencies: ["EngineSchema", "Errand", "Postgres", "Waiting", .logging],
            swiftSettings: strict),

        // What a process says of itself by HTTP.
        .target(
            name: "Web",
            dependencies: [
                "Errand", "Postgres",
                .coreMetrics,
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Web"])),
                .logging,
                .serviceLifecycle,
            ],
            swiftSettings: strict),

        // Jobs that servers handle by HTTP.
        .target(
            name: "Endpoints",
            dependencies: [
                "Cryptography", "Errand", "Outbound", "Postgres",
                .asyncHTTPClient, .logging, .metrics, .nioCore, .nioHTTP1, .nioPosix, .nioSSL,
            ],
            swiftSettings: strict),

        // What programs without a connection to the database enqueue by.
        .target(
            name: "API",
            dependencies: [
                "Cryptography", "Errand", "Postgres", "Web",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
                .coreMetrics, .logging, .metrics, .nioCore, .serviceLifecycle,
            ],
            swiftSettings: strict),

        // Where spans go.
        .target(
            name: "TraceExport",
            dependencies: ["Waiting", .asyncHTTPClient, .coreMetrics, .logging, .nioCore, .nioHTTP1, .tracing],
            swiftSettings: strict),
        // The operators' page, which the web server of a process serves too.
        .target(
            name: "Dashboard",
            dependencies: [
                "Cryptography", "Errand", "Listings", "Outbound", "Postgres", "Waiting", "Web",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
                .logging,
                .product(name: "Mustache", package: "swift-mustache", condition: .when(traits: ["Web"])),
                .nioCore,
            ],
            swiftSettings: strict, plugins: ["EmbedTextPlugin"]),

        // The jobs of the apps, and the program.
        .target(name: "CProcess"),
        .target(
            name: "Jobs",
            dependencies: [
                "Archives", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage", "Outbound", "Postgres",
                .logging,
            ],
            path: "jobs", exclude: texts(in: "jobs"), swiftSettings: strict),
        .executableTarget(
            name: "Command",
            dependencies: [
                "API", "AppSchemas", "CProcess", "Cryptography", "Dashboard", "Endpoints", "EngineSchema", "Errand",
                "ErrandImages", "ErrandPush", "ErrandStorage", "FrontSchema", "Jobs", "Listings", "Outbound",
                "Postgres", "TraceExport", "Web",
                .argumentParser,
                .product(name: "Configuration", package: "swift-configuration"),
                .coreMetrics,
                .logging,
                .nioSSL,
                .serviceLifecycle,
                .tracing,
            ],
            swiftSettings: strict),

        // A mirror of each target, and the program as a whole.
        .testTarget(name: "WaitingTests", dependencies: ["Waiting"], swiftSettings: strict),
        .testTarget(
            name: "PostgresTests",
            dependencies: ["Postgres", "ErrandTestKit", .metricsTestKit],
            swiftSettings: strict),
        .testTarget(
            name: "SchemaTests",
            dependencies: ["AppSchemas", "AppTestKit", "EmbedText", "EngineSchema", "ErrandTestKit", "Postgres"],
            swiftSettings: strict),
        .testTarget(name: "OutboundTests", dependencies: ["Outbound"], swiftSettings: strict),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography"], swiftSettings: strict),
        .testTarget(
            name: "ErrandImagesTests",
            dependencies: ["ErrandImages", "ErrandTestKit", "ImageProcess", .metricsTestKit],
            swiftSettings: strict),
        .testTarget(name: "WebTests", dependencies: ["Web", "ErrandTestKit", "Postgres"], swiftSettings: strict),
        .testTarget(
            name: "APITests",
            dependencies: [
                "API", "Errand", "ErrandTestKit", "Postgres", "Web", .asyncHTTPClient, .logging, .metricsTestKit,
                .nioCore, .nioHTTP1,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TraceExportTests",
            dependencies: ["TraceExport", .logging, .metricsTestKit, .nioCore, .nioHTTP1, .nioPosix, .tracing],
            swiftSettings: strict),
        .testTarget(
            name: "EndpointsTests",
            dependencies: [
                "Cryptography", "Endpoints", "Errand", "Outbound", "Postgres", "PushKit",
                .logging, .metricsTestKit, .nioCore, .nioHTTP1, .nioPosix, .nioSSL,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DashboardTests",
            dependencies: ["Dashboard", "Web", "ErrandTestKit", "Outbound", "Postgres", .logging],
            swiftSettings: strict),
        .target(
            name: "AppTestKit",
            dependencies: ["AppSchemas", "EngineSchema", "Errand", "ErrandTestKit", "Postgres", .logging],
            path: "Tests/AppTestKit", swiftSettings: strict),
        .target(
            name: "FlowKit", dependencies: ["AppTestKit", "ErrandStorage", "Postgres"], path: "Tests/FlowKit",
            swiftSettings: strict),
        .target(name: "StorageKit", path: "Tests/StorageKit", swiftSettings: strict),
        .target(
            name: "PushKit",
            dependencies: [
                "Cryptography",
                .nioCore,
                .nioHTTP1,
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .nioPosix,
                .nioSSL,
            ],
            path: "Tests/PushKit", swiftSettings: strict),
        .testTarget(
            name: "ErrandStorageTests",
            dependencies: [
                "ErrandStorage", "Outbound", "StorageKit", .asyncHTTPClient, .metricsTestKit, .nioCore, .nioHTTP1,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandPushTests",
            dependencies: ["Cryptography", "ErrandPush", "Outbound", "PushKit", .logging, .metricsTestKit],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandTests",
            dependencies: [
                "AppTestKit", "Cryptography", "Errand", "ErrandTestKit", .metricsTestKit,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ErrandTestKitTests",
            dependencies: ["ErrandTestKit", "Errand", .logging],
            swiftSettings: strict),
        .testTarget(
            name: "JobsTests",
            dependencies: [
                "AppTestKit", "Jobs", "ErrandTestKit", "Errand", "ErrandImages", "ErrandPush", "ErrandStorage",
                "FlowKit", "Outbound", "Postgres", "PushKit", "StorageKit", .nioHTTP1,
            ],
            exclude: appsEndToEnd + texts(in: "Tests/JobsTests"), swiftSettings: strict),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "AppSchemas", "AppTestKit", "Command", "ErrandTestKit", "ImageProcess", "Jobs", "Postgres", .logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AppTestKit", "ErrandPush", "ErrandStorage", "ErrandTestKit", "FlowKit", "Postgres", "PushKit",
                "StorageKit",
                .nioHTTP1,
                .subprocess, .systemPackage,
            ],
            path: "Tests", exclude: exceptEndToEnd, swiftSettings: strict),

        // The examples: a program or handler for each product. The guides show parts of them.
        .executableTarget(
            name: "Retry", dependencies: ["Errand"], path: "Examples/Sources/Retry", swiftSettings: plain),
        .executableTarget(
            name: "Greeter",
            dependencies: ["Errand", .logging, .serviceLifecycle],
            path: "Examples/Sources/Greeter", swiftSettings: plain),
        .target(
            name: "Shop", dependencies: ["Errand", .logging],
            path: "Examples/Sources/Shop", swiftSettings: plain),
        .executableTarget(
            name: "ShopServer",
            dependencies: ["Errand", "Shop", .logging, .serviceLifecycle],
            path: "Examples/Sources/ShopServer", swiftSettings: plain),
        .executableTarget(
            name: "Shrink",
            // The program ImageProcess is the child process: it has to lie beside Shrink.
            dependencies: ["ErrandImages", "ImageProcess", .logging],
            path: "Examples/Sources/Shrink", swiftSettings: plain),
        .target(
            name: "Archive", dependencies: ["Errand", "ErrandStorage"], path: "Examples/Sources/Archive",
            swiftSettings: plain),
        .target(
            name: "Notify", dependencies: ["Errand", "ErrandPush"], path: "Examples/Sources/Notify",
            swiftSettings: plain),
        .testTarget(
            name: "ShopTests", dependencies: ["Errand", "ErrandTestKit", "Shop"], path: "Examples/Tests/ShopTests",
            swiftSettings: plain),

        // The benchmark. What was measured and what follows from it: no clock, no process, no database.
        .target(
            name: "Benchmark", dependencies: [.product(name: "Histogram", package: "hdrhistogram-swift")],
            path: "Benchmarks/Sources/Benchmark", swiftSettings: strict),
        // What runs the contenders and measures them.
        .executableTarget(
            name: "Harness",
            dependencies: ["Benchmark", "Errand", .argumentParser, .logging, .subprocess, .systemPackage],
            path: "Benchmarks/Sources/Harness", swiftSettings: strict),
        // Errand, as an application uses it, and bare tables beside it.
        .executableTarget(
            name: "ErrandContender",
            dependencies: [
                "Endpoints", "Errand",
                .argumentParser, .logging, .nioCore, .nioHTTP1, .nioPosix,
                .serviceLifecycle,
                .subprocess,
                .systemPackage,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Benchmarks/Sources/ErrandContender", swiftSettings: strict),
        .testTarget(
            name: "BenchmarkTests", dependencies: ["Benchmark"], path: "Benchmarks/Tests/BenchmarkTests",
            swiftSettings: strict),
        .testTarget(
            name: "HarnessTests", dependencies: ["Benchmark", "Harness"], path: "Benchmarks/Tests/HarnessTests",
            swiftSettings: strict),
    ]
)
