import Foundation
import Testing

/// Of no kind of credential a secret is anywhere to be read, in no spelling: neither what the configuration has, nor what is made of it.
@Suite struct SigningRedactionTests {
  private func runs(_ arguments: [String], _ world: RedactionWorld) throws -> String {
    let done = try ChildProcess.run(Surroundings.program, arguments, environment: world.variables)
    return done.output + done.errors
  }

  @Test func `whatever a credential signs or answers, no log, page, check, explain or error text has a secret`() throws {
    let world = try RedactionWorld()
    let proxy = try ProxyProcess(world.configuration, environment: world.variables)
    defer { proxy.stop() }
    var said: [String] = []
    // What is no token is reported at first.
    try world.sources.set(#"{"faults": ["garbage", "half", "500"]}"#)
    for kind in RedactionWorld.kinds {
      let isThere = try eventually(seconds: 20) {
        let answer = try proxy.ask("POST", world.url(kind, "/status/200"), body: "body of \(kind)")
        if answer.proxyError != nil { said.append(answer.head + answer.text) }
        return answer.status == 200
      }
      #expect(isThere, "\(kind)")
    }
    #expect(said.count >= 3)
    // The app's own signature and answer are dropped, and are secrets of the app.
    let scope = "A/20260101/eu-central-1/s3/aws4_request"
    let own = "X-Amz-Signature=app-5ecret-query&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\(scope)"
    for kind in RedactionWorld.kinds {
      let fields = [
        "Authorization: AWS4-HMAC-SHA256 Credential=\(scope), SignedHeaders=host, Signature=app-5ecret-field",
        "X-Amz-Security-Token: app-5ecret-token", "Signature: sig1=:app-5ecret-signature:",
      ]
      for path in ["/status/401", "/status/403"] {
        let answer = try proxy.ask("GET", world.url(kind, path) + "&" + own, fields)
        #expect(answer.status >= 200, "\(kind)")
        said += answer.all("Proxy-Status") + (answer.proxyError == nil ? [] : [answer.head + answer.text])
      }
      let large = try proxy.ask("POST", world.url(kind, "/status/200"), body: String(repeating: "x", count: 2_000))
      if large.proxyError != nil { said.append(large.head + large.text) }
    }
    for page in ["metrics", "status", "readyz?credentials"] { said.append(try proxy.admin(page).text) }
    said.append(try runs(["check", "--config", proxy.configurationPath], world))
    for kind in RedactionWorld.kinds {
      for options in [[], ["--sign"]] {
        said.append(
          try runs(
            ["explain"] + options + ["--config", proxy.configurationPath, "POST", world.url(kind, "/a")], world))
      }
    }
    #expect(said.filter { $0.contains("digest") }.count >= 3)
    // The keys become unreadable under the running proxy.
    for name in ["ec", "ed", "rsa"] { try ProxyProcess.write("-----BEGIN 5ecret", to: proxy.folder + "/" + name) }
    let broken = world.configuration.replacingOccurrences(of: world.folder, with: proxy.folder)
    try proxy.reload(broken, expecting: "reload failed")
    said.append(try runs(["check", "--config", proxy.configurationPath], world))
    proxy.stop()
    said += [proxy.process.output, proxy.process.errors]

    let sent = try world.sent()
    #expect(sent.count > 40, "\(sent.count)")
    var secrets = (sent + (try world.issued()) + RedactionWorld.plain.values + ["app-5ecret", "5ecret"]).map { Array($0.utf8) }
    secrets += try world.keys()
    Spellings.expectNone(of: secrets, in: said)
  }

  @Test func `what check says about mistakes in credentials has no secret`() throws {
    let folder = try Surroundings.newFolder()
    let lines = [
      "hmac: {key: zz-5ecret, key_encoding: hex, message: \"{method}\", fields: {X: \"{signature}\"}}",
      "hmac: {key: \"5ecret!\", key_encoding: base64, message: \"{method}\", fields: {X: \"{signature}\"}}",
      "hmac: {key: k, message: \"{method}\", values: {v: \"a\\n5ecret\"}, fields: {X: \"{signature}{v}\"}}",
      "jwt: {secret: short-5ecret}", "jwt: {private_key: 5ecret-no-pem}", "jwt: {secret: [5ecret]}",
      "jwt: {private_key: {file: \(folder)/key}, passphrase: wrong-5ecret}",
      "http_signature: {key_id: k, private_key: {file: \(folder)/key}}",
      "http_signature: {key_id: k, secret: \"\"}",
      "github_app: {app_id: \"1\", installation_id: \"2\", private_key: {file: \(folder)/key}}",
      "digest: {username: u, password: \"5ecret\\u0001\"}", "digest: {username: u, password: {value: 5ecret}}",
      "sigv4: {access_key_id: A, secret_access_key: \"5ecret\\n\"}",
      "sigv4: {access_key_id: A, secret_access_key: s, session_token: \"5ecret \\u00e9\"}",
      "sigv4: {access_key_id: A, secret_access_key: 5ecret, source: default}",
      "sigv4: {service: s3, access_key_id: A, secret_access_key: 5ecret, payload: x}",
      "sigv4: {assume_role: {role_arn: \"arn:aws:iam::1:role/x\", external_id: \"5ecret #\"}}",
    ]
    let (begin, end) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----")
    try ProxyProcess.write("\(begin)\nNWVjcmV0\n\(end)\n", to: folder + "/key")
    for line in lines {
      let text = "listen: 127.0.0.1:0\nupstreams: [{match: a.test, credential: a}]\ncredentials:\n  a:\n    \(line)\n"
      try ProxyProcess.write(text, to: folder + "/proxy.conf")
      let check = try ChildProcess.run(Surroundings.program, ["check", "--config", folder + "/proxy.conf"])
      #expect(check.status != .exited(0) && check.errors.contains("error"), "\(line): \(check.output)\(check.errors)")
      #expect(!(check.output + check.errors).contains("5ecret"), "\(line): \(check.output)\(check.errors)")
    }
  }
}
