import Credentials
import EventIO

/// What a login needs from the process around it. Its methods are called on the loop.
public protocol LoginSurroundings: AnyObject {
  /// Sends a request under the credential's trust, within its time-out, on a new connection, without following redirects. Adds the
  /// client's assertion to a request that awaits it, and hides it in the answer.
  /// - Returns: cancels it; `then` is not called any more.
  func send(_ request: TokenHTTPRequest, then: @escaping (EndpointAnswer) -> Void) -> () -> Void
  /// A line of standard output, and one of standard error.
  func print(_ line: String)
  func note(_ line: String)
}

/// The store's side of a login. Its methods may block; they are called in the lane for files, in order.
public protocol LoginStore: Sendable {
  /// Takes the credential's lock, and waits while another process has it.
  /// - Returns: the subject of a record that belongs to this configuration and is no tombstone.
  func open() throws(LoginStoreFailure) -> String?
  /// Writes the login durably, and releases the lock.
  func write(_ login: CompletedLogin) throws(LoginStoreFailure)
  /// Releases the lock.
  func close()
}

/// The text contains no secret.
public struct LoginStoreFailure: Error, Sendable {
  public let text: String
  public init(_ text: String) { self.text = text }
}
