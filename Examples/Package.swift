// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "errand-examples",
    dependencies: [
        // In a package of your own: .package(url: "https://…/errand", from: "…", traits: []). Without traits: the
        // libraries need none, and what only the program `errand` needs isn't even fetched.
        .package(name: "errand", path: "..", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(name: "Retry", dependencies: [.product(name: "Errand", package: "errand")]),
        .executableTarget(
            name: "Greeter",
            dependencies: [
                .product(name: "Errand", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .target(
            name: "Shop",
            dependencies: [
                .product(name: "Errand", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .executableTarget(
            name: "ShopServer",
            dependencies: [
                "Shop",
                .product(name: "Errand", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "Shrink",
            dependencies: [
                .product(name: "ErrandImages", package: "errand"),
                // The child process: it has to lie beside the program.
                .product(name: "errand-image", package: "errand"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .target(
            name: "Archive",
            dependencies: [
                .product(name: "Errand", package: "errand"),
                .product(name: "ErrandStorage", package: "errand"),
            ]),
        .target(
            name: "Notify",
            dependencies: [
                .product(name: "Errand", package: "errand"),
                .product(name: "ErrandPush", package: "errand"),
            ]),
        .testTarget(
            name: "ShopTests",
            dependencies: [
                "Shop",
                .product(name: "Errand", package: "errand"),
                .product(name: "ErrandTestKit", package: "errand"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
