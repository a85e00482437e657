/// Errors of a head, its framing or its target. For a request, `status` is the answer's status. For a response, all of them
/// mean 502.
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
  case hostMissing, hostRepeated, hostMalformed, hostDiffers
  case targetForm, scheme, userinfo, fragment, hostName, hostAddress, port, ambiguousPath, pathOfTwoEntries

  /// Status of the answer to such a request.
  public var status: Int {
    switch self {
    case .targetTooLong: 414
    case .headTooLarge, .tooManyFields: 431
    case .transferCodingUnsupported: 501
    case .unsupportedVersion: 505
    default: 400
    }
  }

  /// One sentence for people, without its full stop. Never quotes input.
  public var reason: StaticString {
    switch self {
    case .bareCR: "a carriage return without a line feed"
    case .bareLF: "a line feed without a carriage return"
    case .nul: "the head contains a NUL"
    case .control: "the head contains a control character"
    case .foldedLine: "a header line is folded or begins with a space"
    case .spaceBeforeColon: "a header field has a space before its colon"
    case .fieldName: "a header field's name is not a token"
    case .missingColon: "a header line has no colon"
    case .method: "the method is not a token"
    case .requestLine: "the request line is not method, target and version, separated by single spaces"
    case .targetCharacter: "the request target has a character that must be percent-encoded"
    case .httpVersion: "the start line has no well-formed HTTP version"
    case .unsupportedVersion: "only HTTP/1.0 and HTTP/1.1 are supported"
    case .statusLine: "the status line is malformed"
    case .targetTooLong: "the request target is too long"
    case .headTooLarge: "the head is too large"
    case .tooManyFields: "the head has too many fields"
    case .contentLengthWithTransferEncoding: "the head has both Content-Length and Transfer-Encoding"
    case .contentLengthMalformed: "Content-Length is not a number, or is too large"
    case .contentLengthsDiffer: "Content-Length has different values"
    case .transferEncodingMalformed: "Transfer-Encoding does not end in exactly one `chunked`"
    case .transferEncodingInHTTP10: "Transfer-Encoding is not allowed in HTTP/1.0"
    case .transferCodingUnsupported: "only the transfer coding `chunked` is supported"
    case .bodyWithTrace: "TRACE must not have a body"
    case .bodyWithConnect: "CONNECT must not have a body"
    case .hostMissing: "an HTTP/1.1 request needs a Host field"
    case .hostRepeated: "there is more than one Host field"
    case .hostMalformed: "the Host field is malformed"
    case .hostDiffers: "Host and :authority differ"
    case .targetForm: "the request target's form does not fit the method"
    case .scheme: "only http:// and https:// targets are supported"
    case .userinfo: "the request target must not contain a user name or password"
    case .fragment: "the request target must not have a fragment"
    case .hostName: "the request target's host name is malformed"
    case .hostAddress: "the request target's host is a malformed IP address"
    case .port: "the request target's port is missing or malformed"
    case .ambiguousPath: "the path has dot segments, double or encoded slashes, or backslashes"
    case .pathOfTwoEntries:
      "decoded and without its `;` parameters, as an origin may read it, the path belongs to another upstream entry"
    }
  }
}

/// The result of parsing a head's bytes.
public enum HeadOutcome: Sendable, Hashable {
  /// More bytes are needed.
  case incomplete
  case complete
  /// The proxy must forward nothing of it, and must close the connection after the answer.
  case invalid(HeadError)
}
