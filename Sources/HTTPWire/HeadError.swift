/// What can be wrong with a head, its framing or its target. For a request `status` is the answer; for a response every one of
/// these means 502.
public enum HeadError: UInt8, Error, Sendable, Hashable, CaseIterable {
  // Line structure.
  case bareCR, bareLF, nul, control, foldedLine, spaceBeforeColon, fieldName, missingColon
  // Start lines.
  case method, requestLine, targetCharacter, httpVersion, unsupportedVersion, statusLine
  // Sizes.
  case targetTooLong, headTooLarge, tooManyFields
  // Framing.
  case contentLengthWithTransferEncoding, contentLengthMalformed, contentLengthsDiffer, transferEncodingMalformed
  case transferEncodingInHTTP10, transferCodingUnsupported, bodyWithTrace, bodyWithConnect
  // Target and Host.
  case hostMissing, hostRepeated, hostMalformed
  case targetForm, scheme, userinfo, fragment, hostName, hostAddress, port, ambiguousPath, pathOfTwoEntries

  /// The status code that answers such a request.
  public var status: Int {
    switch self {
    case .targetTooLong: 414
    case .headTooLarge, .tooManyFields: 431
    case .transferCodingUnsupported: 501
    case .unsupportedVersion: 505
    default: 400
    }
  }

  /// One sentence for people, without its full stop; it never quotes input.
  public var reason: StaticString {
    switch self {
    case .bareCR: "a carriage return stands without its line feed"
    case .bareLF: "a line feed stands without its carriage return"
    case .nul: "there is a NUL in the head"
    case .control: "there is a control character in the head"
    case .foldedLine: "a header line is folded or begins with a space"
    case .spaceBeforeColon: "there is a space before a header field's colon"
    case .fieldName: "a header field's name is no token"
    case .missingColon: "a header line has no colon"
    case .method: "the method is no token"
    case .requestLine: "the request line is not method, target and version with one space between them"
    case .targetCharacter: "the request target has a character that must be percent-encoded"
    case .httpVersion: "the start line does not carry a well-formed HTTP version"
    case .unsupportedVersion: "only HTTP/1.0 and HTTP/1.1 are spoken here"
    case .statusLine: "the status line is malformed"
    case .targetTooLong: "the request target is too long"
    case .headTooLarge: "the head is too large"
    case .tooManyFields: "the head has too many fields"
    case .contentLengthWithTransferEncoding: "Content-Length and Transfer-Encoding are both there"
    case .contentLengthMalformed: "Content-Length is no number, or too large a one"
    case .contentLengthsDiffer: "there are different values of Content-Length"
    case .transferEncodingMalformed: "Transfer-Encoding does not end in exactly one `chunked`"
    case .transferEncodingInHTTP10: "Transfer-Encoding has no place in HTTP/1.0"
    case .transferCodingUnsupported: "only the transfer coding `chunked` is understood here"
    case .bodyWithTrace: "TRACE must not have a body"
    case .bodyWithConnect: "CONNECT must not have a body"
    case .hostMissing: "an HTTP/1.1 request needs a Host field"
    case .hostRepeated: "there is more than one Host field"
    case .hostMalformed: "the Host field is malformed"
    case .targetForm: "the request target has no form that suits the method"
    case .scheme: "only http:// and https:// targets are understood here"
    case .userinfo: "the request target must not carry a user name or password"
    case .fragment: "the request target must not carry a fragment"
    case .hostName: "the request target's host name is malformed"
    case .hostAddress: "the request target's host is a malformed IP address"
    case .port: "the request target's port is missing or malformed"
    case .ambiguousPath: "the path has dot segments, double or encoded slashes, or backslashes"
    case .pathOfTwoEntries:
      "decoded and without its `;` parameters, as an origin may read it, the path belongs to another upstream entry"
    }
  }
}

/// What one look at a head's bytes gave.
public enum HeadOutcome: Sendable, Hashable {
  /// More bytes are needed.
  case incomplete
  case complete
  /// Nothing of it may be forwarded, and the connection is to be closed after the answer.
  case invalid(HeadError)
}
