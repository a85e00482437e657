import Foundation
import Testing

/// Where the keys of sigv4 come from. The servers verify what they can; which key a request was signed with is in its field.
@Suite struct AWSKeySourceTests {
  /// Without what the machine itself may have.
  private func environment(_ more: [String: String]) throws -> [String: String] {
    ["HOME": try Surroundings.newFolder(), "AWS_REGION": "eu-central-1"].merging(more) { $1 }
  }

  private func sigv4(_ keys: String) -> String { "sigv4: {service: s3, region: us-east-1, \(keys)}" }

  private let role = #"role_arn: "arn:aws:iam::1:role/one""#

  @Test func `a container's keys, with the token of its file, which is read for each fetch`() throws {
    let sources = try KeySources()
    let token = try Surroundings.newFolder() + "/token"
    try ProxyProcess.write("container-5ecret\n", to: token)
    let variables = try environment([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token,
    ])
    try withProxy(sources.configuration(sigv4("source: container")), environment: variables) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      try ProxyProcess.write("container-5ecret-next", to: token)
      try sources.set(#"{"revoke": true, "container_token": "container-5ecret-next"}"#)
      // ExpiredToken is what a 401 is: fetched anew, and sent again.
      #expect(try proxy.ask(sources.url()).status == 200)
      let state = try sources.state()
      #expect(state.asked.map { $0["Authorization"] } == ["container-5ecret", "container-5ecret-next"])
      #expect(state.uses.map(\.status) == [200, 403, 200])
      #expect(state.uses.allSatisfy { $0.used.hasPrefix("ASIACON") })
      let expiry = try proxy.awaitExpiry(of: "api")
      #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 30)
      for page in ["metrics", "status", "readyz?credentials"] {
        let text = try proxy.admin(page).text
        #expect(!text.contains("5ecret") && !text.contains("ASIACON"), "\(page)")
      }
    }
  }

  @Test func `an instance's keys, by the second version of its metadata service only`() throws {
    let sources = try KeySources()
    let variables = try environment(["AWS_EC2_METADATA_SERVICE_ENDPOINT": sources.base])
    try withProxy(sources.configuration(sigv4("source: instance")), environment: variables) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      let state = try sources.state()
      let path = "/latest/meta-data/iam/security-credentials/"
      #expect(state.asked.map(\.line) == ["PUT /latest/api/token", "GET \(path)", "GET \(path)my-role"])
      #expect(state.asked[0]["X-aws-ec2-metadata-token-ttl-seconds"] == "21600")
      #expect(state.asked[0]["Content-Type"] == nil)
      #expect(state.uses[0].used.hasPrefix("ASIAIMDS"))
    }
  }

  @Test func `a metadata service that is silent is told after a second, with the hop limit`() throws {
    let sources = try KeySources(#"{"hold": true}"#)
    let variables = try environment(["AWS_EC2_METADATA_SERVICE_ENDPOINT": sources.base])
    try withProxy(sources.configuration(sigv4("source: default")), environment: variables) { proxy in
      let began = Date()
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("hop limit"))
      #expect((0.9..<8).contains(Date().timeIntervalSince(began)))
      try sources.set(#"{"hold": false}"#)
      #expect(try eventually { try proxy.ask(sources.url()).status == 200 })
    }
  }

  @Test func `expired keys of the metadata service are used, with a warning; of others they are not`() throws {
    let sources = try KeySources(#"{"lifetime": -60}"#)
    var variables = try environment(["AWS_EC2_METADATA_SERVICE_ENDPOINT": sources.base])
    try withProxy(sources.configuration(sigv4("source: instance")), environment: variables) { proxy in
      let status = try proxy.ask(sources.url()).status
      #expect(status == 200)
      #expect(proxy.process.awaitLine { $0.contains("credential in use with a reservation") && $0.contains("expired") } != nil)
    }
    variables = try environment([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-5ecret",
    ])
    try withProxy(sources.configuration(sigv4("source: container")), environment: variables) { proxy in
      let answer = try proxy.ask(sources.url())
      expectOwnAnswer(answer, 503, "proxy_internal_response")
      #expect(answer.text.contains("expired"))
    }
  }

  @Test func `web identity: its token file is read for each fetch, and the request is not signed`() throws {
    let sources = try KeySources()
    let token = try Surroundings.newFolder() + "/token"
    try ProxyProcess.write("jwt-5ecret-1\n", to: token)
    let variables = try environment([
      "AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:aws:iam::1:role/pod",
      "AWS_ENDPOINT_URL_STS": sources.base + "/sts",
    ])
    try withProxy(sources.configuration(sigv4("source: default")), environment: variables) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      try ProxyProcess.write("jwt-5ecret-2\n", to: token)
      try sources.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(sources.url()).status == 200)
      let asked = try sources.state().asked
      #expect(asked.map { $0.form["WebIdentityToken"] } == ["jwt-5ecret-1", "jwt-5ecret-2"])
      #expect(asked[0].form["Action"] == "AssumeRoleWithWebIdentity")
      #expect(asked[0].form["RoleArn"] == "arn:aws:iam::1:role/pod")
      #expect(asked[0]["Authorization"] == nil)
    }
  }

  @Test func `a chain of roles: each request to STS is signed with the keys before it`() throws {
    let sources = try KeySources(#"{"keys": {"AKIAUSER": "user-5ecret"}}"#)
    let chain = "assume_role: [{\(role), external_id: ext-5ecret}, {role_arn: \"arn:aws:iam::2:role/two\", session_name: two}]"
    let keys = "access_key_id: AKIAUSER, secret_access_key: user-5ecret, sts: \"\(sources.base)/sts\", \(chain)"
    try withProxy(sources.configuration(sigv4(keys)), environment: try environment([:])) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      let state = try sources.state()
      #expect(state.asked.map { $0.form["RoleArn"] } == ["arn:aws:iam::1:role/one", "arn:aws:iam::2:role/two"])
      #expect(state.asked.map { $0.form["RoleSessionName"] } == ["authproxy", "two"])
      #expect(state.asked.map { $0.form["ExternalId"] } == ["ext-5ecret", nil])
      #expect(state.asked[0]["Authorization"]?.contains("Credential=AKIAUSER/") == true)
      #expect(state.asked[0]["X-Amz-Security-Token"] == nil)
      #expect(state.asked[1]["Authorization"]?.contains("Credential=ASIASTS1/") == true)
      #expect(state.asked[1]["X-Amz-Security-Token"] == "session-5ecret-1")
      #expect(state.uses.map(\.used) == ["ASIASTS2"])
    }
  }

  @Test func `a clock that is an hour wrong is corrected by that of STS, both ways`() throws {
    for offset in [3600, -3600] {
      let sources = try KeySources(#"{"keys": {"AKIAUSER": "user-5ecret"}, "offset": \#(offset), "lifetime": 900}"#)
      let keys = "access_key_id: AKIAUSER, secret_access_key: user-5ecret, sts: \"\(sources.base)/sts\", assume_role: {\(role)}"
      try withProxy(sources.configuration(sigv4(keys)), environment: try environment([:])) { proxy in
        #expect(try proxy.ask(sources.url()).status == 200, "\(offset)")
        #expect(try sources.state().asked.count == 2)
        let expiry = try proxy.awaitExpiry(of: "api")
        #expect(abs(expiry - Date().timeIntervalSince1970 - 900) < 30)
        // What was learnt stays.
        try sources.set(#"{"revoke": true}"#)
        #expect(try proxy.ask(sources.url()).status == 200)
        #expect(try sources.state().asked.count == 3)
      }
    }
  }

  @Test func `whatever is no key is 503 or 502, and is followed nowhere`() throws {
    let sources = try KeySources(#"{"keys": {"AKIAUSER": "user-5ecret"}}"#)
    let ofContainer = try environment([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-5ecret",
    ])
    let assumed =
      "access_key_id: AKIAUSER, secret_access_key: user-5ecret, sts: \"\(sources.base)/sts\", assume_role: {\(role)}"
    let faults = ["500", "garbage", "empty", "half", "redirect", "close"]
    for (keys, more) in [("source: container", []), (assumed, ["throttled", "denied"])] {
      for fault in faults + more {
        try sources.set(#"{"faults": ["\#(fault)"], "forget": true}"#)
        try withProxy(sources.configuration(sigv4(keys)), environment: ofContainer) { proxy in
          let answer = try proxy.ask(sources.url())
          let isFinal = fault == "denied"
          expectOwnAnswer(answer, isFinal ? 502 : 503, isFinal ? "proxy_configuration_error" : "proxy_internal_response")
          #expect(answer.text.contains(keys == assumed ? "AWS STS" : "container"), "\(fault): \(answer.text)")
          #expect(try sources.state().uses.isEmpty)
          #expect(try eventually { try proxy.ask(sources.url()).status == 200 }, "\(fault)")
        }
      }
    }
  }

  @Test func `programs: of the configuration, and of a profile in files that nobody else may write`() throws {
    let sources = try KeySources(#"{"keys": {"AKIAPROGRAM": "program-5ecret"}}"#)
    let folder = try Surroundings.newFolder()
    let output = #"{"Version": 1, "AccessKeyId": "AKIAPROGRAM", "SecretAccessKey": "program-5ecret"}"#
    try ProxyProcess.write("echo '\(output)'\n", to: folder + "/keys")
    try ProxyProcess.write("[default]\ncredential_process = /bin/sh \"\(folder)/keys\"\n", to: folder + "/config")
    try ProxyProcess.write("", to: folder + "/credentials")
    let variables = try environment([
      "AWS_CONFIG_FILE": folder + "/config", "AWS_SHARED_CREDENTIALS_FILE": folder + "/credentials",
    ])
    let program = "source: {command: [/bin/sh, \(folder)/keys], timeout: 5s}"
    for source in [program, "source: profile"] {
      try withProxy(sources.configuration(sigv4(source)), environment: variables) { proxy in
        let status = try proxy.ask(sources.url()).status
        #expect(status == 200)
      }
    }
    #expect(try sources.state().uses.map(\.used) == ["AKIAPROGRAM", "AKIAPROGRAM"])
    try sources.set(#"{"forget": true}"#)
    try FileManager.default.setAttributes([.posixPermissions: 0o622], ofItemAtPath: folder + "/credentials")
    for (source, why) in [("source: profile", "is not run"), ("source: default", "with 'source: profile' only")] {
      try withProxy(sources.configuration(sigv4(source)), environment: variables) { proxy in
        let answer = try proxy.ask(sources.url())
        expectOwnAnswer(answer, 502, "proxy_configuration_error")
        #expect(answer.text.contains(why), "\(answer.text)")
      }
    }
    #expect(try sources.state().uses.isEmpty)
  }

  @Test func `what default has chosen stays until a reload`() throws {
    let sources = try KeySources(#"{"keys": {"AKIAPROFILE": "profile-5ecret"}}"#)
    let home = try Surroundings.newFolder()
    let variables = [
      "HOME": home, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-5ecret",
    ]
    try withProxy(sources.configuration(sigv4("source: default")), environment: variables) { proxy in
      #expect(try proxy.ask(sources.url()).status == 200)
      try FileManager.default.createDirectory(atPath: home + "/.aws", withIntermediateDirectories: false)
      try ProxyProcess.write(
        "[default]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = profile-5ecret\n", to: home + "/.aws/credentials")
      try sources.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(sources.url()).status == 200)
      #expect(try sources.state().uses.allSatisfy { $0.used.hasPrefix("ASIACON") })
      try proxy.reload()
      try sources.set(#"{"revoke": true, "forget": true}"#)
      #expect(try proxy.ask(sources.url()).status == 200)
      #expect(try sources.state().uses.last?.used == "AKIAPROFILE")
      #expect(try sources.state().asked.isEmpty)
    }
  }

  @Test func `nothing in a source is 502, and later attempts are made`() throws {
    let sources = try KeySources(#"{"keys": {"AKIAPROFILE": "profile-5ecret"}}"#)
    let home = try Surroundings.newFolder()
    let variables = ["HOME": home, "AWS_EC2_METADATA_DISABLED": "true"]
    for source in ["default", "environment", "web_identity", "profile", "container", "instance"] {
      try withProxy(sources.configuration(sigv4("source: \(source)")), environment: variables) { proxy in
        expectOwnAnswer(try proxy.ask(sources.url()), 502, "proxy_configuration_error")
        guard source == "default" else { return }
        try FileManager.default.createDirectory(atPath: home + "/.aws", withIntermediateDirectories: false)
        try ProxyProcess.write(
          "[default]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = profile-5ecret\n", to: home + "/.aws/credentials"
        )
        #expect(try eventually { try proxy.ask(sources.url()).status == 200 })
        try FileManager.default.removeItem(atPath: home + "/.aws")
      }
    }
  }

  @Test func `ExpiredToken under a crowd is one refresh, and so is the end of the keys`() throws {
    let sources = try KeySources(#"{"delay": 0.2}"#)
    let variables = try environment([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-5ecret",
    ])
    let configuration = sources.configuration(sigv4("source: container"), top: "threads: 4")
    try withProxy(configuration, environment: variables) { proxy in
      #expect(try Set(sources.crowd(500, through: proxy)) == [200])
      try sources.set(#"{"revoke": true}"#)
      #expect(try Set(sources.crowd(500, through: proxy)) == [200])
      #expect(try sources.state().asked.count == 2)
    }
    try sources.set(#"{"lifetime": 2, "forget": true}"#)
    try withProxy(configuration, environment: variables) { proxy in
      let end = Date(timeIntervalSinceNow: 5)
      var statuses: [Int] = []
      while Date() < end { statuses += try sources.crowd(50, through: proxy) }
      #expect(Set(statuses) == [200])
      #expect(try sources.state().peak == 1)
    }
  }

  @Test func `check names source and role, and contacts nobody; an app cannot reach what hands out keys`() throws {
    let sources = try KeySources()
    let keys = "source: container, sts: \"\(sources.base)/sts\", assume_role: {\(role)}"
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(
      try ProxyProcess.complete(sources.configuration(sigv4(keys), top: "unlisted_hosts: forward")), to: folder + "/proxy.conf")
    let check = try ChildProcess.run(
      Surroundings.program, ["check", "--config", folder + "/proxy.conf"], environment: try environment([:]))
    #expect(
      check.output.flowed.contains(
        "keys from source container, then role arn:aws:iam::1:role/one by STS at \(sources.base)/sts"),
      "\(check.output)\(check.errors)")
    #expect(check.status == .exited(0))
    #expect(try sources.state().asked.isEmpty)
    try withProxy(
      "unlisted_hosts: forward\nupstreams: [{match: listed.test, origin: \"http://127.0.0.1:1\"}]\n"
    ) { proxy in
      for host in ["169.254.169.254", "169.254.170.2", "169.254.170.23", "[fd00:ec2::254]", "[fd00:ec2::23]"] {
        expectOwnAnswer(try proxy.ask("http://\(host)/latest/meta-data/"), 403, "destination_ip_prohibited")
      }
    }
  }
}
