import Crypto
import Testing

@testable import TLS

/// Whose tickets resume where.
@Suite struct TicketTests {
  private let authority: Authority
  private let identity: TLSIdentity
  private let keys: TicketKeys

  init() throws {
    authority = try Authority()
    identity = try authority.identity(.server(["api.example.com"]))
    keys = try TicketKeys(now: 0)
  }

  private func context(_ keys: TicketKeys?) throws -> TLSContext {
    let context = try authority.accepting()
    if let keys { try context.use(keys) }
    return context
  }

  /// Whether a ticket of the first context resumes in the second one.
  private func resumes(
    _ first: TLSContext, _ second: TLSContext, _ version: ProtocolVersion, bound: [UInt8] = [1], then: [UInt8] = [1]
  ) throws -> Bool {
    let client = try authority.client { $0.minimumVersion = version }
    func wire(_ context: TLSContext, _ bound: [UInt8], _ session: TLSSession?) throws -> AcceptedWire {
      let wire = try AcceptedWire(client, context, identity: identity, session: session)
      wire.client.limit(to: version)
      wire.sessionContext = bound
      #expect(try wire.handshake() == .done)
      #expect(wire.accepted == .done)
      _ = wire.clientReads()
      return wire
    }
    let session = try #require(try wire(first, bound, nil).client.takeSession())
    let again = try wire(second, then, session)
    #expect(again.client.isResumed == again.server.isResumed)
    // Whoever resumes gets a ticket for the next time, too.
    if version == .tls13 { #expect(again.client.takeSession() != nil) }
    return again.server.isResumed
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a ticket resumes in what it is bound to, and elsewhere the handshake is full`(_ version: ProtocolVersion) throws {
    let context = try context(keys)
    #expect(try resumes(context, context, version))
    #expect(try !resumes(context, context, version, then: [2]))
    #expect(
      try !resumes(context, context, version, bound: Array(repeating: 7, count: 100), then: Array(repeating: 7, count: 99)))
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `contexts of several loops open each other's tickets, with the key before, too`(_ version: ProtocolVersion) throws {
    #expect(try resumes(context(keys), context(keys), version))
    #expect(try !resumes(context(keys), context(TicketKeys(now: 0)), version))
    #expect(try !resumes(context(nil), context(nil), version))
    let renewed = try keys.renewed(now: TicketKeys.lifetime)
    #expect(try resumes(context(keys), context(renewed), version))
    #expect(try resumes(context(renewed), context(renewed), version))
    let again = try renewed.renewed(now: 2 * TicketKeys.lifetime)
    #expect(try !resumes(context(keys), context(again), version))
    // A key that should have gone long ago opens nothing.
    #expect(try !resumes(context(keys), context(keys.renewed(now: 2 * TicketKeys.lifetime)), version))
  }

  @Test func `keys change in a context that is in use, and show nothing`() throws {
    let context = try context(keys)
    let client = try authority.client()
    let first = try AcceptedWire(client, context, identity: identity)
    #expect(try first.handshake() == .done)
    _ = first.clientReads()
    let session = try #require(first.client.takeSession())
    try context.use(TicketKeys(now: 0))
    let second = try AcceptedWire(client, context, identity: identity, session: session)
    #expect(try second.handshake() == .done)
    #expect(!second.server.isResumed)
    #expect(keys.renewal == TicketKeys.lifetime)
    #expect("\(keys)" == "<ticket keys>" && Mirror(reflecting: keys).children.isEmpty)
  }
}
