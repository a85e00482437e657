import COpenSSL
import Crypto
import Foundation
import Testing

@testable import TLS

/// A bundle's roots are parsed when a chain needs them.
@Suite struct RootDirectoryTests {
  private func store(of authorities: Authority...) throws -> AnchorStore {
    try .systemRoots(SystemRoots(path: "bundle.pem", pem: authorities.flatMap(\.certificate.pem)), and: [])
  }

  private func result(_ authority: Authority, over anchors: AnchorStore) throws -> HandshakeResult {
    let client = try TLSContext.client(ClientOptions(anchors: anchors, verifier: ChainAndHostVerifier()))
    return try Wire(client, authority.server(), host: "api.example.com").handshake()
  }

  @Test func `chains to any of them are good, and only those`() throws {
    let (one, two, other) = (try Authority("One"), try Authority("Two"), try Authority("Other"))
    let anchors = try store(of: one, two)
    for authority in [two, one, two] { #expect(try result(authority, over: anchors) == .done) }
    guard case .failed = try result(other, over: anchors) else {
      Issue.record("a root that is not there")
      return
    }
  }

  @Test func `a root counts only with its key, and all with one name count`() throws {
    let (old, new, forged) = (try Authority("Same"), try Authority("Same"), try Authority("Same"))
    let anchors = try store(of: old, new)
    #expect(try result(new, over: anchors) == .done)
    #expect(try result(old, over: anchors) == .done)
    #expect(try result(forged, over: anchors) != .done)
  }

  @Test func `a certificate of one's own hides no root of the same name, and the other way round`() throws {
    let (old, new) = (try Authority("Same"), try Authority("Same"))
    let bundle = SystemRoots(path: "bundle.pem", pem: old.certificate.pem)
    let anchors = try AnchorStore.systemRoots(bundle, and: [new.certificate.der])
    #expect(try result(old, over: anchors) == .done)
    #expect(try result(new, over: anchors) == .done)
    let other = try Authority("Other")
    #expect(try result(other, over: .systemRoots(bundle, and: [other.certificate.der])) == .done)
  }

  @Test func `a bundle's form with trust settings is left out, as it may say what not to trust`() throws {
    let root = try Authority()
    let pem = String(decoding: root.certificate.pem, as: UTF8.self).replacing(" CERTIFICATE", with: " TRUSTED CERTIFICATE")
    #expect(throws: OpenSSLError.self) { try Certificate.parse(pem: Array(pem.utf8)) }
    let other = try Authority("Other")
    let anchors = try AnchorStore.systemRoots(
      SystemRoots(path: "bundle.pem", pem: Array(pem.utf8) + other.certificate.pem), and: [])
    #expect(try result(root, over: anchors) != .done)
    #expect(try result(other, over: anchors) == .done)
  }

  @Test func `names are compared without case and runs of blanks, as RFC 5280, 7.1, has it`() throws {
    let root = try Authority("Test  Root")
    // Certificates of the same key whose issuer is written in another way.
    let issuer = try CertificateBuilder.authority("test root").selfSigned(with: root.key)
    let leafKey = try PrivateKey.generateP256()
    let leaf = try CertificateBuilder.server(["api.example.com"]).issued(to: leafKey, by: issuer, root.key)
    let server = try TLSContext.server(ServerOptions(identity: try TLSIdentity(chain: [leaf], key: leafKey)))
    let client = try TLSContext.client(ClientOptions(anchors: store(of: root), verifier: ChainAndHostVerifier()))
    #expect(try Wire(client, server, host: "api.example.com").handshake() == .done)
  }

  @Test(arguments: [1, 2]) func `many threads need the same root first`(namesakes: Int) throws {
    let roots = try (0..<namesakes).map { _ in try Authority() }
    let server = try roots[namesakes - 1].server()
    for _ in 0..<20 {
      let anchors = try AnchorStore.systemRoots(
        SystemRoots(path: "bundle.pem", pem: roots.flatMap(\.certificate.pem)), and: [])
      let client = try TLSContext.client(ClientOptions(anchors: anchors, verifier: ChainAndHostVerifier()))
      let wires = try (0..<8).map { _ in try Wire(client, server, host: "api.example.com") }
      nonisolated(unsafe) let shared = wires
      nonisolated(unsafe) var results = [HandshakeResult?](repeating: nil, count: 8)
      results.withUnsafeMutableBufferPointer { buffer in
        nonisolated(unsafe) let buffer = buffer
        DispatchQueue.concurrentPerform(iterations: 8) { buffer[$0] = shared[$0].handshake() }
      }
      #expect(results.allSatisfy { $0 == .done })
    }
  }

  @Test func `the store outlives the bundle, and contexts the store`() throws {
    let root = try Authority()
    let client = try TLSContext.client(ClientOptions(anchors: store(of: root), verifier: ChainAndHostVerifier()))
    #expect(try Wire(client, root.server(), host: "api.example.com").handshake() == .done)
  }

  @Test func `what begins like no certificate is named when the bundle is read`() throws {
    let good = Array(try Authority().certificate.pem)
    let bad = Array("-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n".utf8)
    let problem = #expect(throws: OpenSSLError.self) {
      try AnchorStore.systemRoots(SystemRoots(path: "bundle.pem", pem: good + bad), and: [])
    }
    #expect(problem?.message.contains("certificate 2") == true)
  }

  @Test func `every root of the system's bundle is found by its name`() throws {
    let roots = try SystemRoots.read()
    let all = try Certificate.parse(pem: roots.pem)
    let anchors = try AnchorStore.systemRoots(roots, and: [])
    #expect(all.count > 50)
    for root in all {
      let context = X509_STORE_CTX_new()
      defer { X509_STORE_CTX_free(context) }
      #expect(X509_STORE_CTX_init(context, anchors.pointer, root.pointer, nil) == 1)
      let object = X509_STORE_CTX_get_obj_by_subject(context, X509_LU_X509, X509_get_subject_name(root.pointer))
      defer { X509_OBJECT_free(object) }
      #expect(object != nil, "\(root)")
      let isGood = X509_verify_cert(context) == 1
      #expect(isGood || X509_STORE_CTX_get_error(context) == X509_V_ERR_CERT_HAS_EXPIRED, "\(root)")
    }
  }
}
