import Crypto
import Foundation
import Interception
import Logging
import Proxy
import Settings
import Synchronization
import TLS
import Testing
import Trust

@testable import Operations

@Suite final class PublicationTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("publication-\(UUID().uuidString)").path
  private let now = Int64(time(nil))
  private let (one, two): (SigningCA, SigningCA)
  private let system: SystemRoots
  private var publication = Publication()
  private let log = WarningLog()

  init() throws {
    let now = now
    func authority(_ days: Int) throws -> SigningCA {
      try SigningCA(LocalAuthority.create(for: [PeerName("a.example")], days: days, now: now), now: now)
    }
    (one, two) = (try authority(2), try authority(10))
    let root = try CertificateBuilder.authority("System").selfSigned(with: .generateP256())
    system = SystemRoots(path: "/roots.pem", pem: root.pem)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func follow(
    _ authorities: [SigningCA]?, demanded: Bool = true, publishes: Bool = true, system: SystemRoots?, days: Int64 = 0
  ) throws {
    var intercept = authorities.map { InterceptSettings(source: .files, authorities: SigningCAs($0)) }
    if publishes { intercept?.publish = folder }
    let anchors = TrustPolicy.Anchors.only([one.root.der])
    let policy = TrustPolicy(name: "default", anchors: anchors, evaluators: [.chain(TrustPolicy.Validation())])
    let settings = Settings(listeners: [], trust: ["default": policy], systemRoots: system, intercept: intercept)
    try publication.follow(
      SnapshotBuilder().build(settings, generation: 1), isDemanded: demanded, now: now + days * 86_400,
      Logger(label: "test") { _ in log })
  }

  /// Issuers under one root, one for each number of days; the root outlives them.
  private func family(_ days: Int...) throws -> [SigningCA] {
    let rootKey = try PrivateKey.generateP256()
    let root = try CertificateBuilder.authority("Family").selfSigned(with: rootKey)
    return try days.map { days in
      let key = try PrivateKey.generateP256()
      var builder = CertificateBuilder.authority("Issuer")
      builder.notAfter = now + Int64(days) * 86_400
      builder.constraints = NameConstraints(permitted: [.dns("a.example")])
      return try SigningCA(chain: [builder.issued(to: key, by: root, rootKey), root], key: key, now: now)
    }
  }

  /// Nothing can be renamed to what is a folder.
  private func obstruct(_ name: String) throws {
    let path = "\(folder)/\(name)"
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  private func certificates(_ name: String) throws -> [Certificate] {
    try Certificate.parse(pem: Array(Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))))
  }

  @Test func `roots change on demand only, by whatever way they come`() throws {
    try follow([one], system: system)
    #expect(try certificates("ca.pem") == [one.root])
    try follow([two], demanded: false, system: system)
    #expect(try certificates("ca.pem") == [one.root])
    try follow([two], demanded: false, publishes: false, system: system)
    try follow(nil, demanded: false, system: system)
    try follow([two], demanded: false, system: system)
    #expect(try certificates("ca.pem") == [one.root])
    try follow([two], system: system)
    #expect(try certificates("ca.pem") == [two.root])
  }

  @Test func `what has expired is not published again`() throws {
    try follow([one, two], system: system)
    #expect(try certificates("ca.pem") == [one.root, two.root])
    try follow([two], demanded: false, system: system, days: 3)
    #expect(try certificates("ca.pem") == [two.root])
  }

  @Test func `what was started with is published first, and nothing where that is nothing`() throws {
    try follow([one], publishes: false, system: system)
    try follow([two], demanded: false, system: system)
    #expect(try certificates("ca.pem") == [one.root])
    try FileManager.default.removeItem(atPath: folder)
    try follow(nil, system: system)
    try follow([two], demanded: false, system: system)
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func `roots of the system that go are an error; where there never were any ours are alone`() throws {
    try follow([one], system: nil)
    #expect(try certificates("bundle.pem") == [one.root])
    try follow([one], system: system)
    #expect(try certificates("bundle.pem").count == 2)
    #expect(throws: Publication.Failure.self) { try self.follow([self.one, self.two], system: nil) }
    #expect(try certificates("bundle.pem").count == 2)
    #expect(try certificates("ca.pem") == [one.root])
  }

  @Test func `a root that was demanded stays as long as one of its CAs signs, be it a later one`() throws {
    let family = try family(2, 8, 20)
    try follow([family[0], two], system: system)
    try follow([family[1], two], demanded: false, system: system)
    try follow([family[1], two], demanded: false, system: system, days: 3)
    #expect(try certificates("ca.pem") == [family[0].root, two.root])
    // As long as what followed last would have signed, though it is gone.
    try follow([two], demanded: false, system: system, days: 7)
    #expect(try certificates("ca.pem") == [family[0].root, two.root])
    try follow([two], demanded: false, system: system, days: 9)
    #expect(try certificates("ca.pem") == [two.root])
    // No new root comes that way.
    try follow([one, two], demanded: false, system: system)
    #expect(try !certificates("ca.pem").contains(one.root))
  }

  @Test func `a renewed CA under the root that apps have is no change of the roots`() throws {
    let family = try family(2, 8)
    try follow([family[0]], system: system)
    try follow([family[1]], demanded: false, system: system, days: 3)
    #expect(log.warnings.isEmpty, "\(log.warnings)")
    #expect(try certificates("ca.pem") == [family[0].root])
    try follow([family[1], two], demanded: false, system: system, days: 3)
    #expect(log.warnings.count == 1, "\(log.warnings)")
  }

  @Test func `a watched file empties nothing because the last CA has ended; an operator may`() throws {
    try follow([one], system: system)
    try follow([one], demanded: false, system: system, days: 3)
    #expect(try certificates("ca.pem") == [one.root])
    try follow([], system: system)
    #expect(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/ca.pem")).isEmpty)
    #expect(try certificates("bundle.pem").count == 1)
  }

  @Test func `a root that could not be published on demand is published with the next change, beside those in use`() throws {
    try follow([one], system: system)
    try obstruct("ca.pem")
    #expect(throws: Publication.Failure.self) { try self.follow([self.two], system: self.system) }
    #expect(throws: Publication.Failure.self) { try self.follow([self.two], demanded: false, system: self.system) }
    try FileManager.default.removeItem(atPath: "\(folder)/ca.pem")
    // The configuration that stayed in use still signs with the old one.
    try follow([one], demanded: false, system: system)
    #expect(try certificates("ca.pem") == [one.root, two.root])
    try follow([two], demanded: false, system: system)
    #expect(try certificates("ca.pem") == [one.root, two.root])
    try follow([two], system: system)
    #expect(try certificates("ca.pem") == [two.root])
  }
}

/// Keeps what is logged.
private final class WarningLog: LogHandler {
  private let lines = Mutex<[String]>([])
  var warnings: [String] { lines.withLock { $0 } }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .warning }
    set {}
  }

  func log(event: LogEvent) { lines.withLock { $0.append(event.message.description) } }
}
