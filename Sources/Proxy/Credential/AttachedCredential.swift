import Credentials

/// What a request carries. That it belongs to the configuration which the request began with is checked here and nowhere else;
/// heads take a credential from nothing but this.
struct AttachedCredential {
  private let rendered: RenderedCredential

  /// Nil if the version is of another identity than the request's configuration has.
  init?(_ version: CredentialVersion, for setup: CredentialSetup) {
    guard version.serial == setup.serial else { return nil }
    rendered = version.rendered
  }

  var name: String { rendered.name }
  var version: UInt64 { rendered.version }
  /// The whole field line.
  var line: [UInt8] { rendered.line }
  /// - Parameter now: monotonic milliseconds.
  func isUsable(at now: Int64) -> Bool { rendered.isUsable(at: now) }
}
