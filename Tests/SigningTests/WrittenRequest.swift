import Crypto
import Forwarding
import Testing

@testable import Signing

/// A written head (`\n` for CRLF) with a body, as a signer gets it.
func withRequest<Result>(
  _ head: String, isTLS: Bool = true, body: [UInt8]? = nil, _ run: (SignableRequest) throws -> Result
) throws -> Result {
  let bytes = Array(head.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n").utf8)
  return try bytes.withUnsafeBytes { bytes in
    let written = try #require(WrittenHead(bytes))
    guard let body else { return try run(SignableRequest(written, isTLS: isTLS)) }
    return try body.withUnsafeBytes { try run(SignableRequest(written, isTLS: isTLS, body: $0)) }
  }
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
