import Foundation
import Testing

/// No output of the proxy contains a secret. (Every other test checks this, too: see `ProxyProcess.stop`.)
@Suite struct RedactionTests {
  @Test func `at the most talkative level, in both formats, through every kind of failure, no output has a secret`() throws {
    let origin = try Origin.shared()
    for format in ["json", "text"] {
      let folder = try Surroundings.newFolder()
      let helper = folder + "/helper"
      try ProxyProcess.write("echo helper-5ecret\n", to: helper)
      try ProxyProcess.write("file-5ecret\n", to: folder + "/file")
      let text = """
        admin: 127.0.0.1:0
        log: {level: trace, format: \(format)}
        clients:
          - {name: app, password: client-5ecret}
        unlisted_hosts: forward
        upstreams:
          - {match: api.test, origin: "https://localhost:\(origin.ports.https)", credential: bearer}
          - {match: basic.test, origin: "https://localhost:\(origin.ports.https)", credential: basic}
          - {match: key.test, origin: "https://localhost:\(origin.ports.https)", credential: key}
          - {match: env.test, origin: "https://localhost:\(origin.ports.https)", credential: env, client_authorization: reject}
          - {match: wrong.test, origin: "https://localhost:\(origin.ports.wrong_host)", credential: bearer}
          - {match: dead.test, origin: "https://127.0.0.1:1", credential: oauth}
        credentials:
          bearer: {bearer: {token: {command: [/bin/sh, \(helper)]}}}
          basic: {basic: {username: svc, password: plain-5ecret}}
          key: {header: {name: X-Api-Key, value: {file: \(folder)/file}, format: "Token {value}"}}
          env: {bearer: {token: {env: API_TOKEN}}}
          oauth:
            oauth2:
              grant: password
              token_url: http://127.0.0.1:\(origin.ports.http)/status/400
              client_id: app
              client_secret: oauth-5ecret
              username: someone
              password: user-5ecret
        """
      let proxy = try ProxyProcess(text, environment: ["API_TOKEN": "env-5ecret"])
      let proof = "Proxy-Authorization: Basic \(Data("app:client-5ecret".utf8).base64EncodedString())"
      var answers: [String] = []
      func ask(_ target: String, _ fields: [String] = [], method: String = "GET") throws {
        let answer = try proxy.ask(method, target, fields)
        // What the origin echoes is the API's output, not the proxy's.
        if answer.proxyError != nil { answers.append(answer.head + answer.text) }
      }
      for host in ["api", "basic", "key", "env", "wrong", "dead"] {
        try ask("http://\(host).test/path?query=query-5ecret", [proof, "Cookie: session=cookie-5ecret"])
        try ask("http://\(host).test/status/401", [proof, "Authorization: Bearer app-5ecret"])
      }
      try ask("http://api.test/", ["Proxy-Authorization: Basic \(Data("app:wrong-5ecret".utf8).base64EncodedString())"])
      try ask("http://user:userinfo-5ecret@api.test/", [proof])
      try ask("http://nowhere.invalid/?q=5ecret", [proof])
      try ask("/origin-form?token=form-5ecret", [proof])
      try ask("http://api.test/", [proof, "Bad Field: head-5ecret"])
      try ask("http://api.test/", [proof, "X-Odd: \u{1}odd-5ecret"])
      try ask("http://api.test/", [proof, "Transfer-Encoding: odd-5ecret"], method: "POST")
      try ask("http://api.test/", [proof, "Expect: odd-5ecret"])
      try proxy.reload(text.replacingOccurrences(of: "plain-5ecret", with: "{odd-5ecret: 1}"), expecting: "reload failed")
      try proxy.reload(text + "\n  unknown-key: 5ecret-value\n", expecting: "reload failed")
      for page in ["metrics", "status", "readyz?credentials"] { answers.append(try proxy.admin(page).text) }
      proxy.process.signal(SIGTERM)
      #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))

      // The file's keys are not secrets, whatever they contain: only values in a secret's place count.
      let secrets = [
        "helper-", "plain-", "file-", "env-", "oauth-", "user-", "client-", "query-", "cookie-", "app-", "wrong-", "userinfo-",
        "form-",
        "head-", "odd-",
      ].map { $0 + "5ecret" }
      let encoded = ["svc:plain-5ecret", "app:client-5ecret", "app:wrong-5ecret", "app:oauth-5ecret"].map {
        Data($0.utf8).base64EncodedString()
      }
      for said in proxy.process.lines + [proxy.process.errors] + answers {
        for secret in secrets + encoded where said.contains(secret) {
          if secret == "odd-5ecret", said.contains("reload failed") { continue }
          Issue.record("\(format): \(secret) in: \(said.prefix(400))")
        }
      }
      #expect(proxy.process.lines.count > 20)
    }
  }
}
