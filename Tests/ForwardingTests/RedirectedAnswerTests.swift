import Forwarding
import HTTPWire
import Testing

@Suite struct RedirectedAnswerTests {
  private let url = "https://origin.test/dir/file?q"

  private static let ofHost: Set<String> = [
    "set-cookie", "set-cookie2", "refresh", "strict-transport-security", "clear-site-data",
  ]

  @Test(
    arguments: [
      // At the app's own entry: what the app would resolve rightly stays for the rules of `rewrite`.
      (true, "Location: /x", ""), (true, "Location: https://origin.test/x", ""), (true, "Location: //cdn.test/x", ""),
      (true, "Location: x#f", "Location: http://api.test/dir/x#f\n"),
      (true, "Location: ?y", "Location: http://api.test/dir/file?y\n"),
      (true, "Content-Location: ../x", "Content-Location: http://api.test/x\n"),
      (
        true, "Link: <x>; rel=next, </y>, <https://a.test/>",
        "Link: <http://api.test/dir/x>; rel=next, </y>, <https://a.test/>\n"
      ),
      (true, "Link: </y>", ""), (true, "Set-Cookie: a=b; Secure", ""), (true, "Location: mailto:a@b", ""),
      (true, "Location: a b", ""),
      // Elsewhere: nothing relative can be resolved, and no cookie is the asked host's.
      (false, "Location: /x", "Location: http://api.test/x\n"),
      (false, "Location: //cdn.test/x", "Location: https://cdn.test/x\n"),
      (false, "Location: https://cdn.test/x", ""), (false, "Link: </y>; rel=next", "Link: <http://api.test/y>; rel=next\n"),
      (false, "set-cookie: a=b", ""), (false, "Set-Cookie2: a=b", ""), (false, "REFRESH: 0; url=/x", ""),
      (false, "strict_transport_security: max-age=1", ""), (true, "Strict-Transport-Security: max-age=1", ""),
      (false, "Clear-Site-Data: *", ""), (false, "Strict: x", ""), (true, "Refresh: 1; url=/x", ""),
      (true, "Refresh: 1;url = x", "Refresh: 1;url = http://api.test/dir/x\n"),
      (true, "Refresh: 1.5 , 'x' y", "Refresh: 1.5 , 'http://api.test/dir/x' y\n"),
      (true, "Refresh: 1; url='x", "Refresh: 1; url='http://api.test/dir/x\n"),
      (true, "Refresh: ; URL x", ""), (true, "Refresh: 1; urls", "Refresh: 1; http://api.test/dir/urls\n"),
      (true, "Refresh: 10", ""), (true, "Refresh: 1;", ""), (true, "Refresh:", ""), (true, "Refresh: 1; url=", ""),
    ])
  func `references get absolute where the app would resolve them against another URL`(
    _ isOwn: Bool, _ field: String, _ expected: String
  ) throws {
    let (added, kept) = try settle(field, rules(), isOwn: isOwn)
    #expect(added == expected)
    let name = field.lowercased().split(separator: ":")[0].replacing("_", with: "-")
    let isGone = !added.isEmpty || !isOwn && Self.ofHost.contains(String(name))
    #expect(kept == (isGone ? 1 : 2))
  }

  @Test(
    arguments: [
      // At the app's own entry; elsewhere.
      (
        "<https://origin.test/dir/q>; rel=b, </dir/r>, <https://a.test/>",
        "<http://api.test/v1/q>; rel=b, </v1/r>, <https://a.test/>",
        "<http://api.test/v1/q>; rel=b, <http://api.test/v1/r>, <https://a.test/>"
      ),
      (
        "<https://origin.test/dir/q>, </dir/r>, <rel>", "<http://api.test/v1/q>, </v1/r>, <http://api.test/v1/rel>",
        "<http://api.test/v1/q>, <http://api.test/v1/r>, <http://api.test/v1/rel>"
      ),
      (
        "<rel>; anchor=\"/dir/x\"", "<http://api.test/v1/rel>; anchor=\"/v1/x\"",
        "<http://api.test/v1/rel>; anchor=\"http://api.test/v1/x\""
      ),
    ])
  func `all references of a Link are rewritten, whatever some of them need`(
    _ sent: String, _ own: String, _ elsewhere: String
  ) throws {
    let paths = PathExchange(match: "/v1", origin: "/dir")
    func rules(link: Bool) -> ForwardingRules {
      ForwardingRules(
        name: ProxyName("px"), credentialField: nil, rewrite: .init(link: link), rewriteTo: "http://api.test", paths: paths)
    }
    #expect(try settle("Link: " + sent, rules(link: true), isOwn: true).0 == "Link: \(own)\n")
    #expect(try settle("Link: " + sent, rules(link: true), isOwn: false).0 == "Link: \(elsewhere)\n")
    #expect(try !settle("Link: " + sent, rules(link: false), isOwn: false).0.contains("http://api.test/v1"))
  }

  @Test func `rules for fields come first, and what is not rewritten is the origin's`() throws {
    let removing = rules(responseHeaders: HeaderRules(remove: ["Loc*"], set: []))
    #expect(try settle("Location: x", removing, isOwn: true) == ("", 1))
    let plain = rules(rewrite: .init(location: false, link: false))
    #expect(try settle("Location: x", plain, isOwn: true).0 == "Location: http://api.test/dir/x\n")
    #expect(try settle("Location: x", plain, isOwn: false).0 == "Location: https://origin.test/dir/x\n")
    #expect(try settle("Location: /x", rules(rewritesURLs: false), isOwn: false).0 == "Location: https://origin.test/x\n")
  }

  @Test func `references that would multiply a head are dropped, and cost no more than their bound`() throws {
    let long = "https://origin.test/" + String(repeating: "a", count: 30_000) + "/b"
    for isOwn in [true, false] {
      for reference in ["<a>,", "<?a>,", "<../../a>,", "<a/..>,"] {
        let link = "Link: " + String(repeating: reference, count: 2_000)
        // Wherever it is, it costs no other field its place.
        for fields in [link + "\nLocation: x", "Location: x\n" + link] {
          let (added, kept) = try settle(fields, rules(), isOwn: isOwn, at: long)
          #expect(added.hasPrefix("Location: http://api.test/aaa") && added.utf8.count < 31_000 && kept == 1)
        }
        let (added, _) = try settle(link + "\nRefresh: 1; url=x\nContent-Location: x", rules(), isOwn: true, at: long)
        #expect(
          added.hasPrefix("Refresh: 1; url=http://api.test/aaa") && added.contains("\nContent-Location: http://api.test/aaa"))
      }
    }
    // As many as an API may send.
    let links = (0..<200).map { "<p\($0)>; rel=next" }.joined(separator: ", ")
    #expect(try settle("Link: " + links, rules(), isOwn: false).0.contains("<http://api.test/dir/p199>; rel=next"))
  }

  @Test(
    arguments: [
      // Redirects on the way, and what the app gets of the answer's own fields.
      ([], "Cache-Control: max-age=9", nil),
      (["302"], "Cache-Control: max-age=9", "no-cache"), (["302"], "ETag: x", "no-cache"),
      (["302"], "cache-control: No-Store", "no-store"), (["302"], "Expires: 0\nPragma: no-cache", "no-cache"),
      (["301"], "Cache-Control: max-age=9", nil), (["308"], "Cache-Control: max-age=9", nil),
      (["301\nVary: Cookie"], "Cache-Control: max-age=9", "no-cache"),
      (["301\nExpires: 0"], "CDN-Cache-Control: max-age=9", "no-cache"),
      (["308\nCache-Control: max-age=1"], "Cache-Control: max-age=9", "no-cache"),
      (["301\nCache-Control: max-age=1, PRIVATE"], "Cache-Control: public", "no-store"),
      (["301\nCache-Control: private=\"set-cookie\"", "302"], "Cache-Control: public", "no-store"),
      (["302\nCache-Control: no-store", "301"], "Cache-Control: public", "no-store"),
      // What was said to some caches, or to one user.
      (["301\nPragma: no-cache"], "Cache-Control: public", "no-cache"),
      (["308\nCDN-Cache-Control: max-age=1"], "Cache-Control: public", "no-cache"),
      (["301\nsurrogate_control: no-store"], "Cache-Control: public", "no-store"),
      (["301\nAuthorized: 1"], "Cache-Control: public", "no-cache"),
    ] as [([String], String, String?)])
  func `what the app may keep, the redirects on the way let it keep`(
    _ redirects: [String], _ field: String, _ expected: String?
  ) throws {
    let caching = redirects.map { text in
      head("HTTP/1.1 " + text.replacing("\n", with: " -\n", maxReplacements: 1) + (text.contains("\n") ? "" : " -"))
        .withUnsafeBytes {
          bytes in
          var head = ResponseHead()
          _ = head.parse(bytes, limit: bytes.count)
          return RedirectedCaching(head, in: bytes, isAuthorized: text.contains("Authorized"))
        }
    }.max()
    let (added, kept) = try settle(field, rules(), isOwn: true, caching: caching ?? .asSaid)
    #expect(added == (expected.map { "Cache-Control: \($0)\n" } ?? ""))
    #expect(kept == (expected == nil || field.hasPrefix("ETag") ? 2 : 1))
  }

  @Test func `cookies are kept as the app would get them`() throws {
    let answer = "HTTP/1.1 302 -\nSet-Cookie: a=5ecret; Secure; Path=/\nX: y\nset-cookie: b=c"
    let cases = [
      (rules(), "Set-Cookie: a=5ecret; Secure; Path=/\nset-cookie: b=c\n"),
      (rules(rewrite: .init(secureCookies: true)), "Set-Cookie: a=5ecret; Path=/\nset-cookie: b=c\n"),
      (rules(responseHeaders: HeaderRules(remove: ["set_cookie"], set: [])), ""),
    ]
    for (rules, expected) in cases {
      let cookies = head(answer).withUnsafeBytes { bytes -> [UInt8] in
        var head = ResponseHead()
        _ = head.parse(bytes, limit: bytes.count)
        return rules.cookies(of: &head, in: bytes)
      }
      #expect(lines(cookies) == expected)
    }
  }

  /// The lines that were added, and how many fields go on.
  private func settle(
    _ field: String, _ rules: ForwardingRules, isOwn: Bool, at url: String? = nil, caching: RedirectedCaching = .asSaid
  ) throws -> (String, Int) {
    let url = try HTTPURL(url ?? self.url)
    return head("HTTP/1.1 302 -\nX: y\n" + field).withUnsafeBytes { bytes in
      var head = ResponseHead()
      _ = head.parse(bytes, limit: bytes.count)
      let added = rules.settled(&head, in: bytes, at: url, isOwn: isOwn, of: httpsOrigin, asked: "api.test", caching: caching)
      return (lines(added), head.fields.count { !$0.dropped })
    }
  }
}
