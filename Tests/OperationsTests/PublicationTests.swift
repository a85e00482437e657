import Crypto
import Foundation
import Interception
import Logging
import Proxy
import Settings
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
      Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
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
}
