import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire

/// What origins were shown of entries' credentials for one request: each version, and each proof that was made for an attempt. A redirect
/// may name any of them, however many attempts ago an origin got it.
struct ShownCredentials {
  /// One for each version.
  private var credentials: [AttachedCredential] = []
  private var proofs: Set<ShownProof> = []

  private struct ShownProof: Hashable {
    /// Field and CRLF.
    let line: [UInt8]
    let parameter: [UInt8]?
  }

  /// Keeps what a head is sent with.
  /// - Parameters:
  ///   - head: whole but for the blank line.
  ///   - policy: nil: nothing of the head is made for this attempt.
  mutating func note(_ attached: AttachedCredential, in head: UnsafeRawBufferPointer, _ policy: CredentialPolicy?) {
    if !credentials.contains(where: { $0.isSame(as: attached) }) { credentials.append(attached) }
    for proof in policy?.proofs ?? [] {
      // The head's only fields with this name: the app's own are dropped where the entry's credential goes.
      for line in head.split(separator: 0x0a) {
        let line = UnsafeRawBufferPointer(rebasing: line)
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
          fieldNameEquals(UnsafeRawBufferPointer(rebasing: line[..<colon]), proof.field)
        else { continue }
        proofs.insert(ShownProof(line: Array(line), parameter: proof.parameter))
      }
    }
  }

  /// Whether a URL of an origin has one of them. Those in targets were taken out of its path and query before.
  func isNamed(in url: HTTPURL) -> Bool {
    credentials.contains { Self.secrets(of: $0).contains { SecretInURL.isSecret($0, in: url) } || Self.hasLine(of: $0, url) }
      || proofs.contains { proof in proof.line.withUnsafeBytes { SecretInURL.isProof(of: $0, proof.parameter, in: url) } }
  }

  private static func hasLine(of attached: AttachedCredential, _ url: HTTPURL) -> Bool {
    attached.line.withUnsafeBytes { SecretInURL.isSecret(of: $0, in: url) }
  }

  /// What is not in the line as it is.
  private static func secrets(of attached: AttachedCredential) -> [[UInt8]] {
    switch attached.material {
    case .hmac(let policy): return ([policy.key] + policy.values.map(\.value)).map(\.bytes)
    case .target(let part): return [part.value.bytes]
    default: break
    }
    // RFC 7617 section 2: the password is behind the first colon of what the last word encodes.
    let words = attached.line.split { " \r\n".utf8.contains($0) }
    guard words.count == 3, words[1].elementsEqual("Basic".utf8), let pair = Base64.decode(Array(words[2])),
      let colon = pair.firstIndex(of: UInt8(ascii: ":"))
    else { return [] }
    return [Array(pair[(colon + 1)...])]
  }
}
