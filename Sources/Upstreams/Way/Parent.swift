import Crypto
import EventIO
import Settings
import TLS
import Trust
import WayOut

/// A parent proxy, and what a connection to it needs. Immutable; shared by all loops.
public final class Parent: Sendable {
  public let settings: ParentSettings
  /// How its health is remembered.
  public let hop: Hop
  /// https only.
  let trust: TrustMaterial?
  public let clientIdentity: TLSIdentity?
  /// nil: it wants none.
  public let credential: (any ParentCredential)?
  /// Written addresses of its own name (`hosts`); nil: it is resolved.
  let addresses: [Address]?
  /// Of what a connection through it depends on: without rotating secrets.
  let digest: [UInt8]
  /// Further lines of CONNECT, each with its CRLF.
  let connectLines: [UInt8]

  public init(
    _ settings: ParentSettings, trust: TrustMaterial?, clientIdentity: TLSIdentity?, credential: (any ParentCredential)?,
    addresses: [Address]?
  ) {
    self.settings = settings
    hop = Hop(scheme: settings.scheme, host: settings.host, port: settings.port)
    self.trust = settings.scheme == .https ? trust : nil
    self.clientIdentity = clientIdentity
    self.credential = credential
    self.addresses = addresses
    connectLines = settings.connectFields.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
    digest = SHA256.digest(parts: [
      Array(
        "\(settings.name) \(settings.scheme) \(settings.host) \(settings.port) \(settings.resolvesHere) \(settings.tunnelsHTTP)"
          .utf8),
      self.trust?.digest ?? [], PolicyDigest.of(clientIdentity), credential?.digest ?? [], connectLines,
      Array("\(addresses ?? [])".utf8),
    ])
  }

  public var name: String { settings.name }
  /// Its certificate is judged by revocation, so a connection to it may have to wait for an answer.
  public var needsRevocationAnswers: Bool { trust?.evaluation.policy.checksRevocation ?? false }
  var isTLS: Bool { settings.scheme == .https }
  var isSOCKS: Bool { settings.scheme == .socks5 || settings.scheme == .socks5h }
  /// Requests to http origins go to it as they are to a proxy (RFC 9112 section 3.2.2).
  var takesAbsoluteForm: Bool { !isSOCKS && !settings.tunnelsHTTP && !settings.resolvesHere }

  public var account: ParentAccount { ParentAccount(hop: hop, credential: credential?.digest ?? []) }

  var trustKey: TrustKey {
    TrustKey(
      host: settings.host, port: settings.port, policy: trust?.digest ?? [], identity: PolicyDigest.of(clientIdentity))
  }
}

/// One version of what authenticates this proxy to a parent.
public struct ParentLogin {
  /// Grows with each new value.
  public let version: UInt64
  /// The value of Proxy-Authorization: `Basic ...`.
  public let value: [UInt8]
  /// Not nil: there is no such value, but each request is answered anew. Of one connection.
  let authentication: (any ParentAuthentication)?

  public init(version: UInt64, value: [UInt8]) {
    self.version = version
    self.value = value
    authentication = nil
  }

  public init(version: UInt64, _ authentication: any ParentAuthentication) {
    self.version = version
    value = []
    self.authentication = authentication
  }
}

/// The credential of a parent, as its connections need it. It is for this parent alone.
public protocol ParentCredential: AnyObject, Sendable {
  var name: String { get }
  /// Of its identity: without rotating secrets.
  var digest: [UInt8] { get }
  /// Asks for its present value.
  /// - Parameters:
  ///   - peer: the parent, over a connection that is trusted.
  ///   - deliver: called once, on the loop, possibly before this returns; not after `cancel` of the result. The text says why there is
  ///     none.
  func obtain(for peer: ParentPeer, on loop: EventLoop, deliver: @escaping (Result<ParentLogin, ParentLoginMissing>) -> Void)
    -> any ParentWait
  /// The parent has refused this version: its source is read once more, unless it was a moment ago for the same reason.
  /// - Parameters:
  ///   - deliver: as above; whether there is another version now.
  func refused(
    _ version: UInt64, by who: ParentRefuser, on loop: EventLoop, deliver: @escaping (_ hasAnother: Bool) -> Void
  ) -> any ParentWait
  /// The parent has accepted it for what was refused before: the next refusal has its source read again at once.
  func accepted(by who: ParentRefuser, on loop: EventLoop)
}

/// Who has refused a credential. What one of them says often delays nothing that another one's refusal causes.
public enum ParentRefuser: Hashable, Sendable {
  /// Only the parent can have said so, and it means everybody.
  case parent
  /// The parent, of a tunnel to this host, as a hash; it may mean the host.
  case tunnel(Int)
  /// The parent or the origin, of a request in absolute-form to this host.
  case request(Int)
}

public struct ParentLoginMissing: Error {
  /// Without secrets.
  public let reason: String
  public init(reason: String) { self.reason = reason }
}

public protocol ParentWait: AnyObject {
  func cancel()
}
