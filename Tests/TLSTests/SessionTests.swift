import Testing

@testable import TLS

@Suite struct SessionTests {
  let authority: Authority
  init() throws { authority = try Authority() }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a session resumes without a verified chain, so that its keeper must know the verdict`(_ version: ProtocolVersion) throws
  {
    let client = try authority.client()
    let server = try authority.server { $0.maximumVersion = version }
    let first = try Wire(client, server, host: "api.example.com")
    #expect(first.handshake() == .done)
    _ = first.drain(first.client)
    let session = try #require(first.client.takeSession())
    #expect(session.isSingleUse == (version == .tls13))
    #expect(session.isResumable)
    #expect(session.expiry > 0)

    let second = try Wire(client, server, host: "api.example.com", session: session)
    #expect(second.handshake() == .done)
    #expect(second.client.isResumed)
    #expect(second.client.verifiedChain.isEmpty)
    #expect(second.client.peerChain.isEmpty)
    #expect(second.client.send("again") == 5)
    #expect(second.drain(second.server).bytes == Array("again".utf8))
  }

  @Test func `TLS 1.3 tickets come with the first read; each is handed out once`() throws {
    let wire = try Wire(authority.client(), authority.server { $0.tickets = 2 }, host: "api.example.com")
    #expect(wire.handshake() == .done)
    #expect(wire.drain(wire.client) == ([], TLSIO.wantRead))
    #expect(wire.client.pendingSessions.count == 2)
    #expect(wire.client.takeSession() != nil)
    #expect(wire.client.takeSession() != nil)
    #expect(wire.client.takeSession() == nil)
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a connection dropped without close_notify does not spoil its session`(_ version: ProtocolVersion) throws {
    let client = try authority.client()
    let server = try authority.server { $0.maximumVersion = version }
    var first: Wire? = try Wire(client, server, host: "api.example.com")
    #expect(first?.handshake() == .done)
    if let first { _ = first.drain(first.client) }
    let session = try #require(first?.client.takeSession())
    first = nil
    #expect(session.isResumable)
    let second = try Wire(client, server, host: "api.example.com", session: session)
    #expect(second.handshake() == .done)
    #expect(second.client.isResumed)
  }

  @Test func `a server that forgot the session makes a full handshake, verifier and all`() throws {
    let client = try authority.client()
    let first = try Wire(client, authority.server(), host: "api.example.com")
    #expect(first.handshake() == .done)
    _ = first.drain(first.client)
    let session = try #require(first.client.takeSession())
    let second = try Wire(client, authority.server("other.example.com"), host: "api.example.com", session: session)
    guard case .failed(let error) = second.handshake() else {
      Issue.record("the other server's certificate must be judged")
      return
    }
    #expect(error.kind == .refused)
    #expect(second.client.refusal?.reason == .hostMismatch)
  }

  @Test func `a context that keeps no sessions gets none`() throws {
    let wire = try Wire(authority.client { $0.keepsSessions = false }, authority.server(), host: "api.example.com")
    #expect(wire.handshake() == .done)
    _ = wire.drain(wire.client)
    #expect(wire.client.takeSession() == nil)
  }
}
