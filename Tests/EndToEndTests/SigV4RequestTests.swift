import Foundation
import Testing

/// Requests that the proxy signs for AWS, verified by botocore.
@Suite struct SigV4RequestTests {
  private static let paths = [
    "", "/", "/a", "/a/", "/a//b", "/a/./b", "/a/b/../c", "/a%20b", "/a%2Fb", "/a%2fb", "/%7Ea", "/~a", "/a+b",
    "/a:b@c=d,e;f!g$h'i(j)*k",
    "/%E2%82%AC", "/a%25b", "/.hidden", "/a/b..c", "/%41", "/arn%3Aaws%3As3",
  ]
  private static let queries = [
    "", "?", "?a", "?a=", "?b=1&a=2", "?a=2&a=1", "?a=x+y", "?a=x%20y", "?a=x%2By", "?a=b=c", "?a=%2F/", "?a&&b",
    "?A=1&a=2&%61a=3",
    "?list-type=2&prefix=a%2Fb%20c&delimiter=/", "?a-=1&a=2", "?k=%7E~", "?%E2%82%AC=%e2%82%ac",
  ]

  @Test(arguments: ["s3", "execute-api"])
  func `paths and queries arrive as they are written, and their signature holds`(service: String) throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: \(service), region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      let client = try proxy.connect()
      let targets = Self.paths.map { $0 } + Self.queries.map { "/a" + $0 }
      for target in targets {
        try client.send(ProxyProcess.request("GET", "http://api.test" + target))
        #expect(try client.readAnswer().status == 200, "\(target)")
      }
      let seen = try server.seen()
      #expect(seen.map(\.why) == Array(repeating: "", count: targets.count))
      #expect(seen.map(\.target) == targets.map { $0.isEmpty ? "/" : $0 })
      #expect(Set(seen.map(\.region)) == ["eu-central-1"])
      #expect(Set(seen.map(\.service)) == [service])
      let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
      #expect(Set(seen.map(\.payload)) == [service == "s3" ? empty : ""])
    }
  }

  @Test func `what a hop may alter is not signed; content fields and every x-amz field are`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: sqs, region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      let answer = try proxy.ask(
        "POST", "http://api.test/",
        [
          "Content-Type: application/x-amz-json-1.0", "Content-MD5: abc", "X-Amz-Target: AmazonSQS.SendMessage",
          "x-amz-meta-a:  a   b ",
          "X-Amz-Meta-A: c", "User-Agent: x", "Accept: */*", "X-Forwarded-For: 1", "X-Amzn-Trace-Id: x",
          "Connection: X-Amz-Secret, X-Amz-Date",
          "X-Amz-Secret: hop", "X-Amz-Date: 20000101T000000Z", "X-Amz-Security-Token: mine", "Authorization: Bearer mine",
        ], body: "{}")
      #expect(answer.status == 200, "\(answer.text)")
      let seen = try #require(try server.seen().first)
      #expect(seen.signed == "content-md5;content-type;host;x-amz-date;x-amz-meta-a;x-amz-target")
      #expect(seen.all("Authorization").count == 1 && seen.all("X-Amz-Date").count == 1)
      #expect(seen.all("X-Amz-Security-Token") == [] && seen.all("X-Amz-Secret") == [])
    }
  }

  @Test func `an app's dummy signature says what is signed for, and is replaced; a session token is sent`() throws {
    let server = try AWSServer()
    try server.set(#"{"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", "tok-5ecret/+="]}}"#)
    try withProxy(server.configuration(AWSServer.keys + ", session_token: tok-5ecret/+=")) { proxy throws in
      #expect(
        try proxy.ask("http://api.test/", [AWSServer.dummy("dynamodb", "us-west-2"), "X-Amz-Security-Token: x"]).status == 200)
      #expect(try proxy.ask("http://api.test/", [AWSServer.dummy("s3")]).status == 200)
      let seen = try server.seen()
      #expect(seen.map(\.service) == ["dynamodb", "s3"])
      #expect(seen.map(\.region) == ["us-west-2", "eu-central-1"])
      #expect(seen.allSatisfy { $0.all("Authorization").count == 1 && $0.all("X-Amz-Security-Token") == ["tok-5ecret/+="] })
    }
  }

  private static let presigned =
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=DUMMY%2F20150830%2Fus-west-1%2Fs3%2Faws4_request&X-Amz-Date=20150830T000000Z"
    + "&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Security-Token=x&X-Amz-Signature=00"

  @Test func `a presigned query is cut, and its scope is what is signed for`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(AWSServer.keys)) { proxy throws in
      #expect(try proxy.ask("http://api.test/b/k%20x?versionId=1&\(Self.presigned)&x-id=GetObject").status == 200)
      let seen = try #require(try server.seen().first)
      #expect(seen.target == "/b/k%20x?versionId=1&x-id=GetObject" && seen.why == "")
      #expect(seen.service == "s3" && seen.region == "us-west-1")
    }
  }

  @Test func `with keep an app's own signature passes untouched, with reject it is 403`() throws {
    let server = try AWSServer()
    let keys = "service: s3, region: eu-central-1, \(AWSServer.keys)"
    try withProxy(server.configuration(keys, entry: ", client_authorization: keep")) { proxy throws in
      _ = try proxy.ask("http://api.test/a?\(Self.presigned)")
      _ = try proxy.ask("http://api.test/a", [AWSServer.dummy("s3"), "X-Amz-Date: 1", "X-Amz-Content-Sha256: mine"])
      #expect(try proxy.ask("http://api.test/a", ["Authorization: AWS4-ECDSA-P256-SHA256 Credential=x"]).status == 403)
      var seen = try server.seen()
      #expect(seen.map(\.target) == ["/a?\(Self.presigned)", "/a", "/a"])
      #expect(seen[0].all("Authorization") == [] && seen[0].all("X-Amz-Date") == [])
      #expect(
        seen[1].all("Authorization") == [String(AWSServer.dummy("s3").dropFirst(15))] && seen[1].all("X-Amz-Date") == ["1"])
      #expect(seen[2].all("Authorization") == ["AWS4-ECDSA-P256-SHA256 Credential=x"])
      #expect(try proxy.ask("http://api.test/a", ["Authorization: Bearer x"]).status == 200)
      seen = try server.seen()
      #expect(seen.map(\.why) == [""])
    }
    try withProxy(server.configuration(keys, entry: ", client_authorization: reject")) { proxy throws in
      #expect(try proxy.ask("http://api.test/a?\(Self.presigned)").status == 403)
      #expect(try proxy.ask("http://api.test/a", [AWSServer.dummy("s3")]).status == 403)
      #expect(try proxy.ask("http://api.test/a").status == 200)
      #expect(try server.seen().map(\.why) == [""])
    }
  }

  @Test func `nothing outside of the lists is signed, and services that give keys only where they are named`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: [s3, sqs], region: [eu-central-1], \(AWSServer.keys)")) { proxy throws in
      #expect(try proxy.ask("http://api.test/", [AWSServer.dummy("sqs")]).status == 200)
      for fields in [[AWSServer.dummy("dynamodb")], [AWSServer.dummy("s3", "us-east-1")], [AWSServer.dummy("sts")]] {
        let answer = try proxy.ask("http://api.test/", fields)
        #expect(answer.status == 403 && answer.proxyError == "http_request_denied", "\(fields)")
      }
      #expect(try server.seen().count == 1)
    }
    try withProxy(server.configuration(AWSServer.keys)) { proxy throws in
      for service in ["sts", "iam", "organizations", "sso"] {
        #expect(try proxy.ask("http://api.test/", [AWSServer.dummy(service)]).status == 403)
      }
      let unknown = try proxy.ask("http://api.test/")
      #expect(unknown.status == 502 && unknown.proxyError == "proxy_configuration_error")
      let regionless = try proxy.ask("http://api.test/", ["Authorization: AWS4-HMAC-SHA256 Credential=a/b/c"])
      #expect(regionless.status == 502)
      #expect(try server.seen().isEmpty)
    }
    try withProxy(
      server.configuration("service: sts, \(AWSServer.keys)"), environment: ["AWS_REGION": "eu-west-3"]
    ) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try server.seen().map { "\($0.service) \($0.region)" } == ["sts eu-west-3"])
    }
  }

  @Test func `a reload's lists and keys hold for the next request, on connections that stay`() throws {
    let server = try AWSServer()
    try server.set(#"{"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", null], "OTHER": ["other-5ecret", null]}}"#)
    try withProxy(server.configuration("service: [s3], \(AWSServer.keys)", top: "threads: 1")) { proxy throws in
      let client = try proxy.connect()
      func ask(_ service: String) throws -> Int {
        try client.send(ProxyProcess.request("GET", "http://api.test/", [AWSServer.dummy(service)]))
        return try client.readAnswer().status
      }
      #expect(try [ask("s3"), ask("sqs")] == [200, 403])
      let top = "threads: 1\nlisten: \(proxy.addresses[0])"
      try proxy.reload(server.configuration("service: [sqs], \(AWSServer.keys)", top: top))
      #expect(try [ask("s3"), ask("sqs")] == [403, 200])
      let other = "access_key_id: OTHER, secret_access_key: other-5ecret"
      try proxy.reload(server.configuration("service: [sqs], \(other)", top: top))
      #expect(try [ask("s3"), ask("sqs")] == [403, 200])
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", "", ""])
      #expect(seen[2].all("Authorization").first?.contains("Credential=OTHER/") == true)
    }
  }

  @Test func `SigV4A, event streams and POST policies are 501, and reach nobody`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: s3, region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      for fields in [
        ["Authorization: AWS4-ECDSA-P256-SHA256 Credential=a/20150830/s3/aws4_request, SignedHeaders=host, Signature=0"],
        ["X-Amz-Content-Sha256: STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"],
        ["X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-EVENTS"], ["Content-Type: multipart/form-data; boundary=x"],
      ] {
        let answer = try proxy.ask("POST", "http://api.test/a", fields, body: "x")
        #expect(answer.status == 501 && answer.proxyError == "http_request_error", "\(fields)")
      }
      #expect(try server.seen().isEmpty)
    }
  }

  @Test func `no key, token or signature is in log, metrics, check or explain`() throws {
    let server = try AWSServer()
    try server.set(#"{"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", "tok-5ecret"]}}"#)
    let text = server.configuration(
      "region: eu-central-1, \(AWSServer.keys), session_token: tok-5ecret", top: "log: {level: trace}")
    var signature = ""
    let proxy = try ProxyProcess(text)
    #expect(try proxy.ask("http://api.test/a?b", [AWSServer.dummy("s3")]).status == 200)
    let seen = try #require(try server.seen().first)
    signature = String(seen.all("Authorization").first?.suffix(64) ?? "")
    #expect(signature.count == 64)
    let metrics = try proxy.admin("metrics").text
    #expect(metrics.contains(#"authproxy_signed_requests_total{credential="aws",payload="none"} 1"#))
    let path = proxy.folder + "/proxy.conf"
    proxy.stop()
    let log = proxy.process.output + proxy.process.errors
    #expect(log.contains(#""signed":true"#) && log.contains(#""payload":"none""#))
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", path])
    let words = check.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("sigv4, service from the app's signature or the host, region eu-central-1, static key AKIDEXAMPLE"))
    let explain = try ChildProcess.run(
      Surroundings.program, ["explain", "--sign", "--config", path, "GET", "http://api.test/a//b?z=1&\(Self.presigned)&a=%2f"])
    #expect(explain.output.contains("\n  GET\n  /a//b\n  a=%2F&z=1\n  host:127.0.0.1:\(server.clear)\n"), "\(explain.output)")
    #expect(explain.output.contains("x-amz-security-token:***\n"))
    #expect(explain.output.contains("\n  AWS4-HMAC-SHA256\n") && explain.output.contains("/eu-central-1/s3/aws4_request\n"))
    for text in [log, metrics, check.output + check.errors, explain.output + explain.errors] {
      #expect(!text.contains(Configuration.secretMark) && !text.contains(signature))
    }
  }
}
