import Forwarding
import HTTPWire
import Testing

@Suite struct RedirectedAnswerTests {
  private let url = "https://origin.test/dir/file?q"

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
      (false, "set-cookie: a=b", ""),
    ])
  func `references get absolute where the app would resolve them against another URL`(
    _ isOwn: Bool, _ field: String, _ expected: String
  ) throws {
    let (added, kept) = try settle(field, rules(), isOwn: isOwn)
    #expect(added == expected)
    let isGone = !added.isEmpty || !isOwn && field.hasPrefix("set")
    #expect(kept == (isGone ? 1 : 2))
  }

  @Test func `rules for fields come first, and what is not rewritten is the origin's`() throws {
    let removing = rules(responseHeaders: HeaderRules(remove: ["Loc*"], set: []))
    #expect(try settle("Location: x", removing, isOwn: true) == ("", 1))
    let plain = rules(rewrite: .init(location: false, link: false))
    #expect(try settle("Location: x", plain, isOwn: true).0 == "Location: https://origin.test/dir/x\n")
    #expect(try settle("Location: /x", rules(rewritesURLs: false), isOwn: false).0 == "Location: https://origin.test/x\n")
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
  private func settle(_ field: String, _ rules: ForwardingRules, isOwn: Bool) throws -> (String, Int) {
    let url = try HTTPURL(url)
    return head("HTTP/1.1 302 -\nX: y\n" + field).withUnsafeBytes { bytes in
      var head = ResponseHead()
      _ = head.parse(bytes, limit: bytes.count)
      let added = rules.settled(&head, in: bytes, at: url, isOwn: isOwn, of: httpsOrigin, asked: "api.test")
      return (lines(added), head.fields.count { !$0.dropped })
    }
  }
}
