import COpenSSL
import COpenSSLShims
import Crypto

/// What `TLSConnection.accept` answers.
public enum AcceptResult: Sendable, Hashable {
  case done
  case wantRead
  case wantWrite
  /// The client has said whom it wants. Once `serve` or `refuse` was called, `accept` goes on.
  case wantIdentity(ClientHello)
  case failed(AcceptFailure)
}

/// Why a handshake that an app began has failed.
public struct AcceptFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Reason: Sendable, Hashable {
    /// By an alert that is about the certificate: the app does not trust it.
    case refusedByClient(TLSAlert)
    /// The app asked for another host than the one that the connection is for.
    case wrongName(String)
    case noCommonProtocol
    /// The app went without an alert.
    case closed
    case failed
  }
  public let reason: Reason
  public let error: OpenSSLError
  /// What the app was told.
  public let sent: TLSAlert?
  /// What the app said.
  public let received: TLSAlert?

  public var description: String { received.map { "the client sent the alert \($0)" } ?? error.description }
}

/// The part of a connection that is there only where the app began the handshake.
final class Acceptance {
  /// nil: whatever the client asks for.
  private let expected: PeerName?
  fileprivate(set) var hello: ClientHello?
  fileprivate(set) var hasIdentity = false
  fileprivate var refusal: TLSAlert?
  fileprivate var reason: AcceptFailure.Reason?
  var sent: TLSAlert?
  var received: TLSAlert?

  init(expected: PeerName?) { self.expected = expected }

  /// The alert that ends the handshake; nil: it may go on.
  /// - Parameter alpn: the protocols that the connection accepts.
  func look(_ hello: ClientHello?, alpn: [UInt8]) -> TLSAlert? {
    if let refusal { return refusal }
    guard let hello else { return .decodeError }
    if let name = hello.serverName, let expected, !expected.isSameHost(as: PeerName(name)) {
      reason = .wrongName(name)
      return .unrecognizedName
    }
    if let protocols = hello.protocols, !ALPNNames.list(alpn, hasOneOf: protocols) {
      reason = .noCommonProtocol
      return .noApplicationProtocol
    }
    self.hello = hello
    return nil
  }
}

extension TLSConnection {
  /// The name that the client asked for, and the protocols that it offered; nil before its ClientHello has come.
  public var clientHello: ClientHello? { acceptance?.hello }
  /// The last alert of the client, close_notify included; only where the client began the handshake.
  public var receivedAlert: TLSAlert? { acceptance?.received }
  /// The last alert that went to the client.
  public var sentAlert: TLSAlert? { acceptance?.sent }

  /// Goes on with the handshake that the app began; to be called again after the readiness that it asks for.
  public func accept() -> AcceptResult {
    var systemError: Int32 = 0
    let result = cossl_handshake(pointer, &systemError)
    switch result {
    case 1: return .done
    case TLSIO.wantRead: return .wantRead
    case TLSIO.wantWrite: return .wantWrite
    case Int(COSSL_WANT_IDENTITY): return .wantIdentity(acceptance?.hello ?? ClientHello(serverName: nil, protocols: nil))
    case TLSIO.truncated:
      ERR_clear_error()
      return .failed(
        failure(broken(OpenSSLError(.transport, "the client closed the connection during the TLS handshake")), .closed))
    default:
      return .failed(failure(broken(.ofConnection(.handshake, "TLS handshake", systemError: systemError)), .failed))
    }
  }

  private func failure(_ error: OpenSSLError, _ standard: AcceptFailure.Reason) -> AcceptFailure {
    var reason = acceptance?.reason ?? standard
    if let alert = acceptance?.received, alert.refusesCertificate { reason = .refusedByClient(alert) }
    // A reset is a going, too.
    if reason == .failed, error.kind == .transport, acceptance?.received == nil { reason = .closed }
    return AcceptFailure(reason: reason, error: error, sent: acceptance?.sent, received: acceptance?.received)
  }

  /// Brings the certificate, before or while the handshake waits for it.
  /// - Parameter sessionContext: what a ticket is bound to: one that was made in another context leads to a full handshake. Of any
  ///   length; its digest is used.
  public func serve(_ identity: TLSIdentity, sessionContext: [UInt8]) throws(OpenSSLError) {
    ERR_clear_error()
    guard let stack = OPENSSL_sk_new_null() else { throw .drained(.configuration, "out of memory") }
    defer { OPENSSL_sk_free(stack) }
    for certificate in identity.chain.dropFirst() { OPENSSL_sk_push(stack, UnsafeRawPointer(certificate.pointer)) }
    let bound = SHA256.digest(sessionContext)
    guard SSL_use_cert_and_key(pointer, identity.chain[0].pointer, identity.key.pointer, stack, 1) == 1,
      SSL_set_session_id_context(pointer, bound, UInt32(bound.count)) == 1
    else { throw .drained(.configuration, "certificate \(identity.chain[0].subject)") }
    acceptance?.hasIdentity = true
  }

  /// The handshake ends with this alert at the next `accept`.
  public func refuse(_ alert: TLSAlert = .internalError) { acceptance?.refusal = alert }
}

extension PeerName {
  /// Addresses are the same however they are written.
  public func isSameHost(as other: PeerName) -> Bool {
    if let address, let theirs = other.address { return address == theirs }
    return text == other.text
  }
}
