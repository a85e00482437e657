// swift-tools-version: 6.2
import PackageDescription

/// Fuzz targets exist only for `Tests/Fuzz/run.sh`, which sets the path of the fuzzer's library. Coverage flags slow down every
/// target that has them, and need a separate scratch path.
let fuzzer = Context.environment["AUTHPROXY_FUZZ"] == "1" ? Context.environment["AUTHPROXY_FUZZ_RUNTIME"] : nil

/// Flags of the targets that the fuzzer observes.
let fuzzed: [SwiftSetting] = fuzzer == nil ? [] : [.unsafeFlags(["-sanitize=fuzzer,address"])]

/// The same of targets whose inner parts the fuzzer calls.
let fuzzedInside: [SwiftSetting] = fuzzer == nil ? [] : fuzzed + [.unsafeFlags(["-enable-testing"])]

/// The data path: no dynamic exclusivity checks in release builds, as they cost about 6 ns per access of a class field. Debug
/// builds, which the unit tests use, keep them.
let dataPath: [SwiftSetting] = [
  .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

/// The released program is small and starts quickly: nobody looks up its symbols, equal functions exist once, and relative relocations
/// take a bit each (DT_RELR: glibc 2.36, Debian 12). Only lld can do all three.
let released = LinkerSetting.unsafeFlags(
  ["-use-ld=lld"]
    + ["--no-export-dynamic", "--icf=safe", "-z", "pack-relative-relocs"].flatMap { ["-Xlinker", $0] },
  .when(configuration: .release))

let package = Package(
  name: "authproxy",
  products: [.executable(name: "authproxy", targets: ["authproxy"])],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    // C code that Swift cannot call directly.
    .target(name: "CSystem"),
    .target(name: "CPrefetch"),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "COpenSSLShims", dependencies: ["COpenSSL"]),
    // Its headers only: `CCurlShims` loads it when something is fetched first.
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .target(name: "CCurlShims", dependencies: ["CCurl"]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CZlibShims", dependencies: ["CZlib"]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    // Its module map names the libraries: `mit-krb5-gssapi` has flags that SwiftPM prohibits.
    .systemLibrary(name: "CGSSAPI", providers: [.apt(["libkrb5-dev"])]),

    // The modules; each list of dependencies is a wall.
    .target(name: "HTTPWire", swiftSettings: dataPath + fuzzed),
    .target(name: "HTTP2", dependencies: ["CNGHTTP2", "HTTPWire"], swiftSettings: dataPath + fuzzed),
    .target(name: "WayOut", swiftSettings: dataPath + fuzzed),
    .target(name: "JSON", swiftSettings: dataPath + fuzzed),
    .target(name: "RESP", swiftSettings: fuzzed),
    .target(name: "RedisProtocol", dependencies: ["RESP"], swiftSettings: fuzzed),
    .target(name: "Files", dependencies: ["CSystem"]),
    .target(name: "Forwarding", dependencies: ["HTTPWire"], swiftSettings: dataPath + fuzzed),
    .target(name: "Routing", dependencies: ["HTTPWire"], swiftSettings: dataPath + fuzzed),
    .target(name: "EventIO", dependencies: ["CSystem"], swiftSettings: dataPath),
    .target(name: "Crypto", dependencies: ["COpenSSL", "COpenSSLShims"]),
    .target(name: "TLS", dependencies: ["COpenSSL", "COpenSSLShims", "Crypto", "Files"], swiftSettings: dataPath + fuzzed),
    .target(name: "Cache", dependencies: ["CPrefetch", "Crypto", "HTTPWire"], swiftSettings: dataPath + fuzzed),
    .target(name: "Kerberos", dependencies: ["CGSSAPI"]),
    .target(name: "Interception", dependencies: ["Crypto", "Files", "TLS"]),
    .target(name: "RevocationAnswers", dependencies: ["COpenSSL", "Crypto", "TLS"]),
    .target(name: "Trust", dependencies: ["Crypto", "TLS"]),
    .target(name: "Credentials", dependencies: ["Crypto", "Files", "HTTPWire", "JSON"], swiftSettings: fuzzedInside),
    .target(
      name: "Signing", dependencies: ["Credentials", "Crypto", "Forwarding", "HTTPWire", "JSON"],
      swiftSettings: dataPath + fuzzed),
    .target(name: "Streams", dependencies: ["CSystem", "EventIO", "TLS"], swiftSettings: dataPath),
    .target(
      name: "RedisClient", dependencies: ["Crypto", "EventIO", "RESP", "RedisProtocol", "Streams", "TLS", "Trust"]),
    .target(name: "SmallHTTP", dependencies: ["CSystem", "EventIO", "HTTPWire", "Streams", "TLS"]),
    .target(name: "Fetch", dependencies: ["CCurl", "CCurlShims", "CSystem", "EventIO", "HTTPWire", "TLS", "Trust"]),
    .target(name: "KubernetesStore", dependencies: ["Credentials", "Crypto", "EventIO", "Fetch", "JSON", "Trust"]),
    .target(
      name: "Settings",
      dependencies: [
        "CSystem", "Cache", "Crypto", "Files", "HTTPWire", "Interception", "RedisProtocol", "Routing", "Trust", "Credentials",
        "TLS", "WayOut",
      ]),
    .target(
      name: "ConfigurationFile",
      dependencies: [
        "CYAML", "Cache", "Crypto", "Files", "HTTPWire", "Interception", "JSON", "RedisProtocol", "Routing", "Settings",
        "Trust",
        "Credentials", "TLS", "WayOut",
      ],
      swiftSettings: fuzzed),
    .target(
      name: "Upstreams",
      dependencies: [
        "CSystem", "Crypto", "EventIO", "Fetch", "Forwarding", "HTTP2", "HTTPWire", "Settings", "Streams", "TLS", "Trust",
        "WayOut",
      ],
      swiftSettings: dataPath),
    .target(
      name: "Proxy",
      dependencies: [
        "HTTPWire", "HTTP2", "Forwarding", "Routing", "CSystem", "Cache", "EventIO", "Crypto", "TLS", "Signing", "Streams",
        "Trust",
        "Credentials", "Fetch", "Files", "Kerberos", "KubernetesStore", "RedisClient", "RedisProtocol",
        "Interception", "JSON", "Settings", "Upstreams", "WayOut", "CZlib", "CZlibShims",
      ], swiftSettings: dataPath),
    .target(
      name: "Operations",
      dependencies: [
        "Proxy", "CSystem", "Cache", "Credentials", "Crypto", "EventIO", "Files", "Interception", "JSON", "Settings",
        "SmallHTTP", "TLS",
        "Trust", "Upstreams", "WayOut",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: dataPath),
    .target(
      name: "DemoServers",
      dependencies: [
        "CSystem", "Crypto", "EventIO", "HTTP2", "HTTPWire", "JSON", "RevocationAnswers", "SmallHTTP", "Streams", "TLS",
        "Upstreams",
      ]),
    .target(name: "Login", dependencies: ["CSystem", "Credentials", "EventIO", "SmallHTTP"]),
    .executableTarget(
      name: "authproxy",
      dependencies: [
        "Cache", "Kerberos", "Login", "Operations", "Proxy", "ConfigurationFile", "Crypto", "Forwarding", "Signing",
        "Interception",
        "Routing", "Settings", "Credentials",
        "Trust",
        "TLS",
        "DemoServers", "CSystem", "EventIO", "Files", "HTTPWire", "JSON", "SmallHTTP", "Streams", "Upstreams", "WayOut",
        .product(name: "ArgumentParser", package: "swift-argument-parser"), .product(name: "Logging", package: "swift-log"),
      ],
      // The build ID leads debuggers and symbol servers from a stripped program to its symbols.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--build-id=sha1"]), released]),

    .testTarget(name: "HTTPWireTests", dependencies: ["HTTPWire"]),
    .testTarget(name: "HTTP2Tests", dependencies: ["CNGHTTP2", "HTTP2", "HTTPWire"]),
    .testTarget(name: "WayOutTests", dependencies: ["WayOut"]),
    .testTarget(name: "JSONTests", dependencies: ["JSON"]),
    .testTarget(name: "RESPTests", dependencies: ["RESP"]),
    .testTarget(name: "RedisProtocolTests", dependencies: ["RESP", "RedisProtocol"]),
    .testTarget(
      name: "RedisClientTests", dependencies: ["Crypto", "EventIO", "RedisClient", "RedisProtocol", "TLS", "Trust"]),
    .testTarget(
      name: "KubernetesStoreTests", dependencies: ["Credentials", "Crypto", "EventIO", "JSON", "KubernetesStore", "Trust"]),
    .testTarget(name: "ForwardingTests", dependencies: ["Forwarding", "HTTPWire"]),
    .testTarget(name: "RoutingTests", dependencies: ["Routing", "HTTPWire"]),
    .testTarget(name: "EventIOTests", dependencies: ["EventIO", "CSystem"]),
    .testTarget(
      name: "FetchTests", dependencies: ["Crypto", "EventIO", "Fetch", "SmallHTTP", "TLS", "Trust"]),
    .testTarget(name: "StreamsTests", dependencies: ["CSystem", "Crypto", "EventIO", "Streams", "TLS"]),
    .testTarget(name: "SmallHTTPTests", dependencies: ["EventIO", "SmallHTTP"]),
    .testTarget(name: "CryptoTests", dependencies: ["Crypto"]),
    .testTarget(name: "TLSTests", dependencies: ["Crypto", "RevocationAnswers", "TLS", "COpenSSL", "COpenSSLShims"]),
    .testTarget(name: "SigningTests", dependencies: ["Credentials", "Crypto", "Forwarding", "HTTPWire", "Signing"]),
    .testTarget(name: "CacheTests", dependencies: ["Cache", "HTTPWire"]),
    .testTarget(name: "KerberosTests", dependencies: ["CGSSAPI", "Kerberos"]),
    .testTarget(name: "FilesTests", dependencies: ["Files"]),
    .testTarget(name: "InterceptionTests", dependencies: ["COpenSSL", "Crypto", "Files", "Interception", "TLS"]),
    .testTarget(name: "TrustTests", dependencies: ["Crypto", "RevocationAnswers", "Trust", "TLS"]),
    .testTarget(
      name: "CredentialsTests", dependencies: ["Credentials", "Crypto", "JSON"],
      swiftSettings: [.unsafeFlags(["-O"], .when(configuration: .debug))]),
    .testTarget(
      name: "ConfigurationFileTests",
      dependencies: [
        "Cache", "ConfigurationFile", "Crypto", "Files", "Interception", "JSON", "RedisProtocol", "Routing", "Settings",
        "Trust",
        "Credentials", "TLS", "WayOut",
      ]),
    .testTarget(name: "UpstreamsTests", dependencies: ["EventIO", "HTTPWire", "Upstreams", "WayOut"]),
    .testTarget(
      name: "ProxyTests",
      dependencies: [
        "CZlib", "Cache", "Crypto", "Forwarding", "Proxy", "EventIO", "Credentials", "Fetch", "HTTPWire", "Kerberos", "Routing",
        "Settings", "Signing",
      ]),
    .testTarget(
      name: "OperationsTests",
      dependencies: [
        "Cache", "Crypto", "Operations", "Proxy", "EventIO", "CSystem", "Files", "Interception", "JSON", "Settings",
        "Credentials", "TLS", "Trust", "Upstreams",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(name: "EndToEndTests"),
  ],
  swiftLanguageModes: [.v6]
)

if let fuzzer {
  package.targets.append(.target(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"))
  for (name, modules) in [
    ("RequestHeadFuzz", ["HTTPWire"]), ("ResponseHeadFuzz", ["HTTPWire"]), ("ChunkedFuzz", ["HTTPWire"]),
    ("ConfigurationFuzz", ["ConfigurationFile", "Settings"]), ("ClientHelloFuzz", ["TLS"]),
    ("AWSChunkedFuzz", ["Signing"]), ("CanonicalTargetFuzz", ["Forwarding", "HTTPWire", "Signing"]),
    ("ChallengeFuzz", ["Credentials", "HTTPWire", "Signing"]), ("STSAnswerFuzz", ["Credentials"]),
    ("KeyAnswerFuzz", ["Credentials", "JSON"]), ("AWSErrorFuzz", ["JSON", "Signing"]),
    ("ProxyHeaderFuzz", ["HTTPWire"]), ("HTTP2ClientFuzz", ["HTTP2", "HTTPWire"]), ("HTTP2ServerFuzz", ["HTTP2", "HTTPWire"]),
    ("SOCKSFuzz", ["WayOut"]), ("CacheFuzz", ["Cache", "HTTPWire"]), ("RedirectFuzz", ["Forwarding", "HTTPWire", "Routing"]),
    ("RESPFuzz", ["RESP", "RedisProtocol"]),
  ] {
    // SwiftPM renames an executable's main to <target>_main, so the fuzzer's main does not link. Each target has its own main,
    // which calls the library's driver.
    package.targets.append(
      .executableTarget(
        name: name, dependencies: ["CFuzzer"] + modules.map { .target(name: $0) }, path: "Tests/Fuzz/\(name)",
        swiftSettings: fuzzed + [.unsafeFlags(["-parse-as-library"])],
        linkerSettings: [.unsafeFlags(["-sanitize=address", fuzzer]), .linkedLibrary("stdc++")]))
  }
}
