import Foundation
import Testing

/// Each hop has the credential of its own entry, prepared for what that hop asks for.
@Suite struct RedirectCredentialTests {
  /// An entry for clear.test before the others, which leads to api.test.
  private func fronted(_ configuration: String, _ origin: Origin) -> String {
    let front =
      #"  - {match: clear.test, origin: "http://127.0.0.1:\#(origin.ports.http)", redirects: {follow: 3, methods: [GET, POST], to: [api.test]}}"#
    return configuration.replacingOccurrences(of: "upstreams:\n", with: "upstreams:\n\(front)\n")
  }

  /// Sends a request to clear.test, which is redirected.
  private func ask(
    _ proxy: ProxyProcess, _ origin: Origin, _ method: String = "GET", _ status: Int = 307, to location: String,
    body: String? = nil
  ) throws -> Answer {
    let name = Origin.newName()
    try origin.script(name, [.readBody, Redirecting.answer(status, location)])
    return try proxy.ask(
      method, "http://clear.test/?id=\(name)", ["Content-Type: text/plain", "Authorization: Bearer 5ecret-app"], body: body)
  }

  @Test func `signatures cover the target, and a body that came before`() throws {
    let origin = try Origin.shared()
    let server = try SigningServer(["venues": ["one": "s1-5ecret"], "keys": ["my key": "s3cr3t-5ecret-of-some-bytes"]])
    try ProxyProcess.write("s1-5ecret", to: server.folder + "/key")
    let hmac = """
      hmac:
            key: {file: \(server.folder)/key}
            algorithm: sha512
            message: "{timestamp}{method}{target}{nonce}{body}"
            timestamp: unix_ms
            values: {id: one, pass: pass-s1-5ecret}
            fields: {X-Key: "{id}", X-Time: "{timestamp}", X-Nonce: "{nonce}", X-Pass: "{pass}", X-Sign: "{signature}"}
      """
    for (kind, path) in [
      (hmac, "/hmac/a?b"),
      ("http_signature: {key_id: my key, secret: s3cr3t-5ecret-of-some-bytes, algorithm: hmac-sha256}", "/signed/a?b"),
    ] {
      try server.set(["forget": true])
      try withProxy(fronted(server.configuration(kind), origin)) { proxy throws in
        let location = server.base + path
        #expect(try ask(proxy, origin, to: location).status == 200, "\(path)")
        #expect(try ask(proxy, origin, "POST", to: location, body: "a body").status == 200, "\(path)")
        #expect(try ask(proxy, origin, "POST", 303, to: location, body: "a body").status == 200, "\(path)")
        let uses = try server.uses()
        #expect(
          uses.map(\.why) == ["", "", ""] && uses.map(\.method) == ["GET", "POST", "GET"] && uses.map(\.length) == [0, 6, 0])
      }
    }
  }

  @Test func `AWS signatures, with the body's hash`() throws {
    let origin = try Origin.shared()
    let server = try AWSServer()
    try withProxy(fronted(server.configuration("service: s3, region: eu-central-1, \(AWSServer.keys)"), origin)) {
      proxy throws in
      let location = "http://127.0.0.1:\(server.clear)/bucket/key?a=b"
      #expect(try ask(proxy, origin, to: location).status == 200)
      #expect(try ask(proxy, origin, "POST", to: location, body: "a body").status == 200)
      #expect(try server.seen().map(\.why) == ["", ""])
    }
  }

  @Test func `Digest challenges, and proofs for tokens with a nonce that was not known`() throws {
    let origin = try Origin.shared()
    let digest = try DigestServer()
    try withProxy(fronted(digest.configuration(), origin)) { proxy throws in
      #expect(try ask(proxy, origin, to: digest.base + "/api/x").status == 200)
      #expect(try ask(proxy, origin, "POST", to: digest.base + "/api/y", body: "a body").status == 200)
      let state = try digest.state()
      #expect(state.faults == [] && state.whys == ["none", "good", "good"])
    }
    let dpop = try DPoPServer(#"{"nonce": "fixed"}"#)
    try withProxy(fronted(dpop.configuration(), origin)) { proxy throws in
      #expect(try ask(proxy, origin, to: dpop.base + "/api/x").status == 200)
      #expect(try dpop.state().uses.map(\.status) == [401, 200])
    }
  }

  /// Requests go through a parent that asks for Digest, in absolute-form.
  private func challenging(_ parent: ParentServer, _ origin: Origin, _ digest: DigestServer) -> String {
    """
    via: corporate
    parents: {corporate: {url: "\(parent.url("http"))", credential: proxy-login}}
    upstreams:
      - {match: front.test, origin: "http://localhost:\(origin.ports.http)", redirects: {follow: 20, to: [api.test]}}
      - {match: api.test, origin: "http://localhost:\(digest.port)", credential: camera}
    credentials:
      proxy-login: {digest: {username: proxyuser, password: pw-5ecret-parent}}
      camera: {digest: {username: svc, password: \(DigestServer.password)}, allow_plaintext: true}
    threads: 1

    """
  }

  @Test func `a parent's challenge at one hop is none of the origin's at the next`() throws {
    let (origin, digest, parent) = (try Origin.shared(), try DigestServer(), try ParentServer())
    try parent.set(#"{"login": "\#(ParentServer.login)", "digest": {"algorithm": "SHA-256"}}"#)
    try withProxy(challenging(parent, origin, digest)) { proxy throws in
      let name = Origin.newName()
      try origin.script(name, [.readBody, Redirecting.answer(302, "http://localhost:\(digest.port)/api/x")])
      let answer = try proxy.ask("http://front.test/?id=\(name)")
      let state = try digest.state()
      #expect(answer.status == 200 && state.whys == ["none", "good"], "\(answer.head) \(state) \(proxy.tail)")
    }
  }

  @Test func `a parent may challenge at each of many hops`() throws {
    let (origin, digest, parent) = (try Origin.shared(), try DigestServer(), try ParentServer())
    try parent.set(#"{"login": "\#(ParentServer.login)", "digest": {"algorithm": "SHA-256", "uses": 1}}"#)
    try withProxy(challenging(parent, origin, digest)) { proxy throws in
      let names = (0...9).map { _ in Origin.newName() }
      for (name, next) in zip(names, names.dropFirst()) {
        try origin.script(name, [.readBody, Redirecting.answer(302, "/?id=\(next)")])
      }
      let answer = try proxy.ask("http://front.test/?id=\(names[0])")
      #expect(answer.status == 200 && answer.details?.hasPrefix("9 redirects followed") == true, "\(answer.head) \(proxy.tail)")
    }
  }

  @Test func `a refused token is refreshed at each hop, once`() throws {
    let server = try TokenServer()
    let configuration = try server.configuration(entry: ["redirects: {follow: 5}"])
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      // The first hop refuses; what it redirects to refuses again.
      let name = Origin.newName()
      try server.origin.script(name, [.readBody, Redirecting.answer(302, "/api/\(server.name)/next")])
      try server.set(#"{"revoke": true, "forget": true}"#)
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.status == 200, "\(answer.head)")
      let state = try server.state()
      #expect(state.uses.map(\.status) == [401, 200] && state.requests.count == 1)
      #expect(state.uses.allSatisfy { $0.path.hasSuffix("next") })
    }
  }

  @Test func `a token that comes late is waited for at a hop`() throws {
    let server = try TokenServer()
    let world = try Redirecting(server.origin)
    let configuration = try server.configuration(match: "api.test").replacingOccurrences(
      of: "upstreams:\n",
      with:
        #"upstreams:\#n  - {match: front.test, origin: "http://127.0.0.1:\#(server.origin.ports.http)", redirects: {follow: 3, to: [api.test]}}\#n"#
    )
    try withProxy(configuration) { proxy throws in
      let name = Origin.newName()
      try server.origin.script(name, [.readBody, Redirecting.answer(302, "\(world.api)/api/\(server.name)/x")])
      try server.holdNext()
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://front.test/?id=\(name)"))
      try server.origin.await(server.name, gate: "on")
      try server.openGate()
      #expect(try client.readAnswer().status == 200)
    }
  }

  @Test func `credentials in the target are added to each hop's, and never named by one`() throws {
    let origin = try Origin.shared()
    let file = try TargetCredential.file()
    let cdn = "\(Redirecting.cdn):\(origin.ports.https)"
    let entry = #", redirects: {follow: 5, to: ["\#(cdn)"]}"#
    let hosts = "hosts: {\(Redirecting.cdn): [127.0.0.1]}"
    try withProxy(try TargetCredential.query(file.value, entry: entry, top: hosts)) { proxy throws in
      for location in ["/b?key=\(TargetCredential.inQuery)&id=", "b?id=", "?key=other&id="] {
        let (name, target) = (Origin.newName(), Origin.newName())
        try origin.script(name, [.readBody, Redirecting.answer(302, location + target)])
        #expect(try proxy.ask("http://api.test/a?id=\(name)").text == "ok\n", "\(location)")
        let received = try #require(try origin.exchanges(target).first)
        #expect(received.target.hasSuffix("id=\(target)&key=\(TargetCredential.inQuery)"), "\(received.target)")
        #expect(received.target.components(separatedBy: "key=").count == 2)
      }
      let (name, target) = (Origin.newName(), Origin.newName())
      try origin.script(
        name, [.readBody, Redirecting.answer(302, "https://\(cdn)/b?key=\(TargetCredential.inQuery)&id=\(target)")])
      #expect(try proxy.ask("http://api.test/a?id=\(name)").text == "ok\n")
      #expect(try origin.exchanges(target).first?.target == "/b?id=\(target)")
    }
    try withProxy(try TargetCredential.path(file.value, entry: entry, top: hosts)) { proxy throws in
      let segment = "/bot\(TargetCredential.inPath)"
      for own in ["/botmine", ""] {
        let (name, target) = (Origin.newName(), Origin.newName())
        try origin.script(name, [.readBody, Redirecting.answer(302, "next?id=\(target)")])
        #expect(try proxy.ask("http://api.test\(own)/dir/a?id=\(name)").status == 200)
        #expect(try origin.exchanges(target).map(\.target) == ["\(segment)/dir/next?id=\(target)"])
      }
      for (location, expected) in [
        ("next?id=", "/dir/next"), ("./next?id=", "/dir/next"), ("../next?id=", "/next"), ("\(segment)/x/y?id=", "/x/y"),
        ("/x?id=", "/x"),
        ("../../next?id=", nil),
      ] {
        let (name, target) = (Origin.newName(), Origin.newName())
        try origin.script(name, [.readBody, Redirecting.answer(302, location + target)])
        let answer = try proxy.ask("http://api.test/dir/a?id=\(name)")
        #expect(answer.status == (expected == nil ? 302 : 200), "\(location): \(answer.head)")
        #expect(try origin.exchanges(target).map(\.target) == (expected.map { ["\(segment)\($0)?id=\(target)"] } ?? []))
      }
    }
  }

  @Test func `an origin that names the credential in another host's URL is not obeyed`() throws {
    let world = try Redirecting()
    try withProxy(world.configuration(world.standard())) { proxy throws in
      for token in [Redirecting.token, "%61pi-5ecret-token", "%2561pi-5ecret-token"] {
        let (name, target) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/?token=\(token)&id=\($0)" }
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(
          answer.status == 302 && answer.details == "redirect relayed: its Location holds the credential", "\(answer.head)")
        #expect(try world.origin.exchanges(target).isEmpty)
      }
    }
  }

  @Test func `an origin that names a password in another host's URL is not obeyed`() throws {
    let world = try Redirecting()
    let entry =
      #"{name: basic, match: basic.test, origin: "\#(world.api)", credential: login, redirects: \#(world.standard())}"#
    let login = "login: {basic: {username: user, password: basic-5ecret-word}}"
    try withProxy(world.configuration("relay", entries: [entry], credentials: [login])) { proxy throws in
      for word in ["basic-5ecret-word", "basic-%35ecret-word", "dXNlcjpiYXNpYy01ZWNyZXQtd29yZA=="] {
        let (name, target) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/?p=\(word)&id=\($0)" }
        let answer = try proxy.ask("http://basic.test/?id=\(name)")
        #expect(answer.details == "redirect relayed: its Location holds the credential", "\(word): \(answer.head)")
        #expect(try world.origin.exchanges(target).isEmpty)
      }
    }
  }

  @Test func `an origin that names a token or a signature made for it in another host's URL is not obeyed`() throws {
    let world = try Redirecting()
    let kinds = [
      ("Authorization", "jwt: {secret: jwt-5ecret-of-thirty-two-bytes-or-more, algorithm: HS256, issuer: me}"),
      ("X-Sign", #"hmac: {key: hmac-5ecret-key, message: "{method}{path}", fields: {X-Sign: "{signature}"}}"#),
    ]
    let entries = kinds.enumerated().map { index, _ in
      #"{name: k\#(index), match: k\#(index).test, origin: "\#(world.api)", credential: k\#(index), redirects: \#(world.standard())}"#
    }
    let credentials = kinds.enumerated().map { index, kind in "k\(index): {\(kind.1)}" }
    try withProxy(world.configuration("relay", entries: entries, credentials: credentials)) { proxy throws in
      for (index, (field, _)) in kinds.enumerated() {
        // Both are the same for the next request: a JWT is kept, and this signature is of the path alone.
        let known = Origin.newName()
        #expect(try proxy.ask("http://k\(index).test/?id=\(known)").status == 200)
        let word = try #require(try world.only(known)[field]?.split(separator: " ").last)
        for place in ["https://\(Redirecting.cdn):\(world.port)/", "https://\(Redirecting.pay):\(world.port)/base/"] {
          let (name, target) = try world.redirecting { "\(place)?token=\(word)&id=\($0)" }
          let answer = try proxy.ask("http://k\(index).test/?id=\(name)")
          #expect(answer.details == "redirect relayed: its Location holds the credential", "\(field) \(answer.head)")
          #expect(try world.origin.exchanges(target).isEmpty)
        }
        // At the origin itself it is no secret; it still is none's behind the next redirect.
        let (name, next, target) = (Origin.newName(), Origin.newName(), Origin.newName())
        try world.origin.script(name, [.readBody, Redirecting.answer(302, "/?id=\(next)&token=\(word)")])
        try world.origin.script(
          next, [.readBody, Redirecting.answer(302, "https://\(Redirecting.cdn):\(world.port)/?t=\(word)&id=\(target)")])
        #expect(try proxy.ask("http://k\(index).test/?id=\(name)").details?.hasSuffix("holds the credential") == true)
        #expect(try world.only(next).target.contains(word) && world.origin.exchanges(target).isEmpty)
      }
    }
  }

  @Test func `what is public of a signature may be in another host's URL`() throws {
    let world = try Redirecting()
    let entry =
      #"{name: aws, match: aws.test, origin: "\#(world.api)", credential: aws, redirects: \#(world.standard())}"#
    let keys = "access_key_id: AKIA5ecretEXAMPLE, secret_access_key: aws-5ecret-key-of-forty-bytes-or-so"
    let credential = "aws: {sigv4: {service: s3, region: eu-central-1, \(keys)}}"
    try withProxy(world.configuration("relay", entries: [entry], credentials: [credential])) { proxy throws in
      let known = Origin.newName()
      #expect(try proxy.ask("http://aws.test/?id=\(known)").status == 200)
      let received = try world.only(known)
      let hash = try #require(received["X-Amz-Content-Sha256"])
      let scope = try #require(received["Authorization"]?.firstMatch(of: /Credential=([^,]+)/)).1
      // As the URLs that other owners of the key have signed.
      let (name, target) = try world.redirecting {
        "https://\(Redirecting.cdn):\(world.port)/?X-Amz-Content-Sha256=\(hash)&X-Amz-Credential=\(scope)&id=\($0)"
      }
      #expect(try proxy.ask("http://aws.test/?id=\(name)").text == "ok\n")
      #expect(try !world.only(target).raw_head.contains("Authorization"))
    }
  }

  @Test func `a token that was refused before is as secret as the next one`() throws {
    let server = try TokenServer()
    let cdn = "\(Redirecting.cdn):\(server.origin.ports.https)"
    let configuration = try server.configuration(
      entry: [#"redirects: {follow: 5, to: ["\#(cdn)"]}"#], top: "hosts: {\(Redirecting.cdn): [127.0.0.1]}")
    try withProxy(configuration) { proxy throws in
      let known = Origin.newName()
      try server.origin.script(known, [.readBody, Redirecting.answer(200, nil)])
      #expect(try proxy.ask("http://api.test/?id=\(known)").status == 200)
      let old = try #require(try server.origin.exchanges(known).first?["Authorization"]?.split(separator: " ").last)
      let (name, target) = (Origin.newName(), Origin.newName())
      try server.origin.script(
        name, [.readBody, .send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")],
        [.readBody, Redirecting.answer(302, "https://\(cdn)/?t=\(old)&id=\(target)")])
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      let sent = try server.origin.exchanges(name).map { $0["Authorization"] }
      #expect(sent.count == 2 && sent[0] == "Bearer \(old)" && sent[1] != sent[0])
      #expect(answer.details == "redirect relayed: its Location holds the credential", "\(answer.head)")
      #expect(try server.origin.exchanges(target).isEmpty)
    }
  }

  @Test func `an origin that names a secret of the target in another host's name is not obeyed`() throws {
    let origin = try Origin.shared()
    let secret = "5ecret-in-a-Name"
    let file = try TargetCredential.file(secret)
    let to = #", redirects: {follow: 5, to: ["*.example.test:\#(origin.ports.https)"]}"#
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, Redirecting.answer(302, "https://\(secret.lowercased()).example.test:\(origin.ports.https)/")])
    for configuration in [
      try TargetCredential.query(file.value, entry: to), try TargetCredential.path(file.value, entry: to),
    ] {
      try withProxy(configuration) { proxy throws in
        let answer = try proxy.ask("http://api.test/a?id=\(name)")
        #expect(
          answer.status == 302 && answer.details == "redirect relayed: its Location holds the credential", "\(answer.head)")
      }
    }
  }

  @Test func `a credential of the app's own goes to its entry alone`() throws {
    let world = try Redirecting()
    try withProxy(world.configuration(world.standard(), entry: ", client_authorization: keep")) { proxy throws in
      let name = Origin.newName()
      // Away, and back by another redirect: from elsewhere the entry is no target.
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "/2?id=\(name)")],
        [.readBody, Redirecting.answer(302, "https://\(Redirecting.cdn):\(world.port)/3?id=\(name)")],
        [.readBody, Redirecting.answer(302, "\(world.api)/4?id=\(name)")])
      let answer = try proxy.ask("http://api.test/1?id=\(name)", ["Authorization: Bearer app-5ecret"])
      #expect(answer.status == 302 && answer["Location"] == "\(world.api)/4?id=\(name)", "\(answer.head)")
      let seen = try world.origin.exchanges(name)
      #expect(seen.map { $0.all("Authorization") } == [["Bearer app-5ecret"], ["Bearer app-5ecret"], []])
      #expect(seen.map { $0.tls?.sni } == ["localhost", "localhost", Redirecting.cdn])
    }
  }

  @Test func `where the app's own credential cannot go on, the entry's does not take its place`() throws {
    let world = try Redirecting()
    let entry =
      #"{name: wide, match: "https://*.example.test:\#(world.port)", credential: api, wildcard_credential: true, client_authorization: keep, redirects: {follow: 3}}"#
    let top = "intercept: {ca: memory, publish: \(try Surroundings.newFolder())}"
    try withProxy(world.configuration("relay", entries: [entry], top: top)) { proxy throws in
      for (mine, count) in [(["-H", "Authorization: Bearer app-5ecret"], 0), ([], 1)] {
        let (name, target) = try world.redirecting { "https://\(Redirecting.pay):\(world.port)/next?id=\($0)" }
        let url = "https://\(Redirecting.cdn):\(world.port)/?id=\(name)"
        let got = try ChildProcess.run("curl", ["-sSki", "--proxy", "http://127.0.0.1:\(proxy.port)"] + mine + [url])
        #expect(try world.origin.exchanges(target).count == count, "\(got.output) \(got.errors)")
        #expect(
          got.output.contains("redirect relayed: the app's own credential does not go on") == (count == 0), "\(got.output)")
      }
    }
  }

  @Test func `where the app's own credential is in the URL, a redirect changes nobody into another`() throws {
    let world = try Redirecting()
    let file = try TargetCredential.file()
    let own = ", client_authorization: keep, redirects: {follow: 5}"
    for (configuration, path, next) in [
      (try TargetCredential.query(file.value, entry: own), "/a?key=mine&id=", "/b?id="),
      (try TargetCredential.path(file.value, entry: own), "/botmine/a?id=", "/b?id="),
    ] {
      try withProxy(configuration) { proxy throws in
        let (name, target) = try world.redirecting { next + $0 }
        let answer = try proxy.ask("http://api.test" + path + name)
        #expect(
          answer.status == 302 && answer.details?.contains("the app's own credential does not go on") == true, "\(answer.head)")
        #expect(try world.origin.exchanges(target).isEmpty)
        // As the same user.
        let (first, second) = try world.redirecting { path.replacingOccurrences(of: "/a", with: "/c") + $0 }
        #expect(try proxy.ask("http://api.test" + path + first).text == "ok\n")
        #expect(try world.only(second).target.contains("mine"))
      }
    }
    // Whom another entry is asked as is not for a redirect to say.
    let maps =
      #"{name: maps, match: maps.test, origin: "https://\#(Redirecting.cdn):\#(world.port)", credential: maps, client_authorization: keep}"#
    let credential = "maps: {query: {name: key, value: \(file.value)}}"
    try withProxy(world.configuration("{follow: 5, to: [maps]}", entries: [maps], credentials: [credential])) { proxy throws in
      for (query, isAsked) in [("key=theirs&", false), ("", true)] {
        let (name, target) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/?\(query)id=\($0)" }
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.status == (isAsked ? 200 : 302), "\(answer.head)")
        #expect(
          try world.origin.exchanges(target).map(\.target)
            == (isAsked ? ["/?id=\(target)&key=\(TargetCredential.inQuery)"] : []))
      }
    }
  }

  @Test func `an error behind a redirect says that it is there`() throws {
    let world = try Redirecting()
    let name = Origin.newName()
    // Nothing listens on the discard port of a test machine.
    let host = "\(Redirecting.cdn):9"
    try world.origin.script(name, [.readBody, Redirecting.answer(302, "https://\(host)/")])
    try withProxy(world.configuration(#"{follow: 5, to: ["\#(host)"]}"#)) { proxy throws in
      let answer = try proxy.ask("GET", "http://api.test/?id=\(name)")
      #expect(answer.status == 502)
      #expect(answer.details?.hasPrefix("1 redirect followed, last to \(host): ") == true, "\(answer.head)")
    }
  }
}
