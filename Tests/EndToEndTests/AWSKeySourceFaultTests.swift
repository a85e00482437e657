import Foundation
import Testing

/// STS, a container's endpoint and the metadata service that are slow, broken, or have another idea of time.
@Suite struct AWSKeySourceFaultTests {
  private static let role = #"assume_role: {role_arn: "arn:aws:iam::1:role/one"}"#

  /// What of the three is asked, and how.
  enum Place: String, CaseIterable, Sendable {
    case container, instance, sts

    func keys(_ sources: KeySources) -> String {
      switch self {
      case .container: "source: container"
      case .instance: "source: instance"
      case .sts: "access_key_id: AKIAUSER, secret_access_key: user-5ecret, sts: \"\(sources.base)/sts\", \(role)"
      }
    }

    func environment(_ sources: KeySources) throws -> [String: String] {
      let own: [String: String] =
        switch self {
        case .container:
          [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-5ecret",
          ]
        case .instance: ["AWS_EC2_METADATA_SERVICE_ENDPOINT": sources.base]
        case .sts: [:]
        }
      return ["HOME": try Surroundings.newFolder(), "AWS_REGION": "eu-central-1"].merging(own) { $1 }
    }
  }

  private static let user = #""keys": {"AKIAUSER": "user-5ecret"}"#

  private func withKeys(
    _ place: Place, _ sources: KeySources, top: String = "", _ body: (ProxyProcess) throws -> Void
  ) throws {
    let text = sources.configuration("sigv4: {service: s3, region: us-east-1, \(place.keys(sources))}", top: top)
    try withProxy(text, environment: try place.environment(sources)) { try body($0) }
  }

  @Test(arguments: Place.allCases)
  func `a slow one costs the requests that wait for it their time and no more, and is asked once`(place: Place) throws {
    let sources = try KeySources("{\(Self.user), \"delay\": 0.7}")
    try withKeys(place, sources, top: "timeouts: {credential: 400ms}") { proxy in
      let began = Date()
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect((0.3..<5).contains(Date().timeIntervalSince(began)))
      #expect(answer["Retry-After"] != nil)
      #expect(try eventually { try proxy.ask(sources.url()).status == 200 })
      #expect(try sources.state().peak == 1)
    }
  }

  @Test(arguments: ["500", "garbage", "empty", "half", "redirect", "close"])
  func `a metadata service that answers nonsense, in any of its three answers, is 503, and followed nowhere`(
    fault: String
  ) throws {
    let sources = try KeySources()
    for before in 0..<3 {
      // libcurl itself asks again if a connection that it has used before is closed.
      let faults = (Array(repeating: "", count: before) + (fault == "close" ? [fault, fault] : [fault])).map { "\"\($0)\"" }
        .joined(separator: ", ")
      try sources.set("{\"faults\": [\(faults)], \"forget\": true}")
      try withKeys(.instance, sources) { proxy in
        let answer = try proxy.ask(sources.url())
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(answer.text.contains("metadata"), "\(answer.text)")
        #expect(try sources.state().uses.isEmpty)
        #expect(try sources.state().asked.allSatisfy { !$0.line.contains("redirected") })
        #expect(try eventually { try proxy.ask(sources.url()).status == 200 }, "\(before)")
        try sources.set(#"{"faults": []}"#)
      }
    }
  }

  @Test func `keys of STS that are expired on arrival are not used`() throws {
    let sources = try KeySources("{\(Self.user), \"lifetime\": -60}")
    try withKeys(.sts, sources) { proxy in
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("expired"), "\(answer.text)")
      #expect(try sources.state().uses.isEmpty)
      try sources.set(#"{"lifetime": 900}"#)
      #expect(try eventually { try proxy.ask(sources.url()).status == 200 })
    }
  }

  @Test(arguments: [
    #""date": """#, #""date": "Thu, 01 Jan 1970 00:00:00 GMT""#, #""date": "soon""#, #""age": "7""#,
    #""date": "Fri, 31 Dec 2099 00:00:00 GMT""#,
  ])
  func `a Date of STS that is none, cannot be, or is not its own, corrects no clock`(settings: String) throws {
    let sources = try KeySources("{\(Self.user), \"offset\": 3600, \(settings)}")
    try withKeys(.sts, sources) { proxy in
      let answer = try proxy.ask(sources.url())
      #expect([502, 503].contains(answer.status), "\(answer.head)")
      #expect(try sources.state().asked.count == 1)
      #expect(try sources.state().uses.isEmpty)
    }
  }

  @Test(arguments: [Place.container, .instance], [-3_600, 3_600])
  func `keys are kept as long as they are valid by the clock of who hands them out`(place: Place, offset: Int) throws {
    let sources = try KeySources("{\"offset\": \(offset), \"lifetime\": 900}")
    try withKeys(place, sources) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 900) < 30, "\(expiry - Date().timeIntervalSince1970)")
    }
  }

  @Test(arguments: [#""date": """#, #""date": "Thu, 01 Jan 1970 00:00:00 GMT""#, #""age": "7""#])
  func `a Date of a container that is none, cannot be, or is not its own, leaves the time of the keys as it is`(
    settings: String
  ) throws {
    let sources = try KeySources("{\"lifetime\": 900, \(settings)}")
    try withKeys(.container, sources) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 900) < 30, "\(expiry - Date().timeIntervalSince1970)")
    }
  }
}
