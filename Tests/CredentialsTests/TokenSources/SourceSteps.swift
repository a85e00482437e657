import Testing

@testable import Credentials

/// A source with files, programs and a clock, one step at a time.
struct SourceDriver {
  static let wall: Int64 = 1_795_338_000  // 2026-11-22T09:00:00Z
  var steps: SourceExchange
  var files: [String: String] = [:]
  /// Those that others may write.
  var foreign: Set<String> = []
  var programs: [String: String] = [:]
  var wall = Self.wall

  init(_ source: TokenSource) { steps = SourceExchange(source) }

  init(
    aws base: AWSKeySource.Base = .standard, _ environment: [String: String] = [:], profile: String? = nil,
    roles: [AWSKeySource.Role] = [], sts: String? = nil, region: String? = nil, files: [String: String] = [:]
  ) {
    self.init(
      .aws(
        AWSKeySource(
          base: base, profile: profile, roles: roles, sts: sts, region: region,
          environment: SourceEnvironment(["HOME": "/home/me"].merging(environment) { $1 }))))
    self.files = files
  }

  private var access: SourceAccess {
    let (files, foreign, programs) = (files, foreign, programs)
    return SourceAccess { (path: String) throws(SourceAccess.Problem) in
      guard let text = files[path] else { throw SourceAccess.Problem("No such file or directory", isAbsence: true) }
      if text == "unreadable" { throw SourceAccess.Problem("Permission denied") }
      return SourceAccess.File(content: Secret(text), isOurs: !foreign.contains(path))
    } run: { (program: SourceAccess.Program) throws(SourceAccess.Problem) in
      guard let text = programs[program.arguments.joined(separator: " ")] else {
        throw SourceAccess.Problem("exited with status 1")
      }
      return Secret(text)
    }
  }

  mutating func start() -> TokenExchange.Step { steps.start(access, wall: wall) }

  mutating func answer(
    _ body: String, status: Int = 200, retryAfter: Int64? = nil, date: Int64? = nil, flavor: String? = nil
  ) -> TokenExchange.Step {
    steps.answered(
      SourceReply(status: status, retryAfter: retryAfter, date: date, metadataFlavor: flavor, body: bytes(body)), wall: wall)
  }

  mutating func fail(_ failure: TokenFailure) -> TokenExchange.Step { steps.failed(failure) }
}

extension TokenExchange.Step {
  var sending: TokenHTTPRequest? { if case .send(let request) = self { request } else { nil } }
  var ended: TokenAnswer? { if case .finished(let answer) = self { answer } else { nil } }
  var grant: TokenGrant? { if case .token(let grant)? = ended { grant } else { nil } }
  var keys: AWSKeys? { grant.flatMap { AWSKeys(token: $0.accessToken) } }
  var failure: TokenFailure? { if case .failed(let failure, _)? = ended { failure } else { nil } }
  var failureText: String? { failure.map { "\($0)" } }
  var refusal: String? { if case .refused(let error)? = ended { error.text } else { nil } }
}

extension TokenHTTPRequest {
  var line: String { "\(method.rawValue) \(url)" }
  func sent(_ name: String) -> String? { fields.first { $0.name == name }.map { text($0.value.bytes) } }
  /// Without escapes of `:` and `/`.
  var plainForm: String { text(body.bytes).replacing("%3A", with: ":").replacing("%2F", with: "/") }
}

func sts(_ action: String, _ id: String, until end: String = "2026-11-22T10:00:00Z") -> String {
  """
  <\(action)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><\(action)Result><Credentials><AccessKeyId>\(id)</AccessKeyId>\
  <SecretAccessKey>s-\(id)</SecretAccessKey><SessionToken>t-\(id)</SessionToken><Expiration>\(end)</Expiration></Credentials>\
  </\(action)Result></\(action)Response>
  """
}

func endpointKeys(_ id: String, until end: String = "2026-11-22T10:00:00Z") -> String {
  #"{"Code": "Success", "AccessKeyId": "\#(id)", "SecretAccessKey": "s-\#(id)", "Token": "t-\#(id)", "Expiration": "\#(end)"}"#
}

func stsError(_ code: String, _ message: String = "no") -> String {
  "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code><Message>\(message)</Message></Error></ErrorResponse>"
}
