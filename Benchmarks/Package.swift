// swift-tools-version: 6.2
import PackageDescription

/// As in Errand itself: Swift 6 mode, and a warning fails the build.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "errand-benchmarks",
    products: [
        .executable(name: "bench", targets: ["Harness"]),
        .executable(name: "errand-contender", targets: ["ErrandContender"]),
    ],
    dependencies: [
        // As an application takes it: the libraries, without what only the program `errand` needs.
        .package(name: "errand", path: "..", traits: []),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // What was measured and what follows from it: no clock, no process, no database.
        .target(
            name: "Benchmark",
            dependencies: [.product(name: "Histogram", package: "hdrhistogram-swift")],
            swiftSettings: strict),
        // What runs the contenders and measures them.
        .executableTarget(
            name: "Harness",
            dependencies: [
                "Benchmark",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Errand", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict),
        // Errand, as an application uses it, and bare tables beside it.
        .executableTarget(
            name: "ErrandContender",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Errand", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(name: "BenchmarkTests", dependencies: ["Benchmark"], swiftSettings: strict),
        .testTarget(name: "HarnessTests", dependencies: ["Benchmark", "Harness"], swiftSettings: strict),
    ]
)
