import Testing

@testable import Credentials

@Suite("What the browser gets to see, and whether it starts")
struct BrowserTests {
  static let pages: [(BrowserPage, Int)] = [
    (.loggedIn("logged in to mailbox"), 200), (.failed("<script>alert(\"1\")</script> & 'x'"), 400), (.notThisLogin, 400),
    (.alreadyReceived, 400), (.wrongPath, 404), (.wrongMethod, 405),
  ]

  @Test("every page has the same strict fields, and neither script nor external resource", arguments: pages)
  func page(page: BrowserPage, status: Int) {
    let fields = page.fields.map { "\($0.name): \($0.value)" }
    for field in [
      "Cache-Control: no-store", "Referrer-Policy: no-referrer", "Content-Security-Policy: default-src 'none'",
      "X-Content-Type-Options: nosniff",
    ] { #expect(fields.contains(field)) }
    #expect(fields.contains("Allow: GET") == (status == 405))
    let body = text(page.body)
    for word in ["<script", "<style", "src=", "href=", "http:", "https:", "//"] { #expect(!body.contains(word)) }
  }

  @Test("foreign text is escaped")
  func escaping() {
    let body = text(BrowserPage.failed("<b a=\"1\" c='2'>&amp;").body)
    #expect(body.contains("The login failed: &lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;. You can close this page."))
  }

  @Test(
    "a browser starts if there is a screen, or if the person names one",
    arguments: [
      (false, ["DISPLAY": ":0"], .start(program: "xdg-open")), (false, ["WAYLAND_DISPLAY": "w"], .start(program: "xdg-open")),
      (false, [:], .none(isRemote: true)), (false, ["DISPLAY": ""], .none(isRemote: true)),
      (false, ["DISPLAY": ":0", "SSH_CONNECTION": "1 2 3 4"], .none(isRemote: true)),
      (false, ["BROWSER": "w3m", "SSH_CONNECTION": "1 2 3 4"], .start(program: "w3m")),
      (false, ["BROWSER": "", "DISPLAY": ":0"], .start(program: "xdg-open")),
      (true, ["BROWSER": "firefox", "DISPLAY": ":0"], .none(isRemote: false)), (true, [:], .none(isRemote: true)),
    ] as [(Bool, [String: String], BrowserChoice)])
  func choice(forbidden: Bool, environment: [String: String], choice: BrowserChoice) {
    #expect(BrowserChoice(forbidden: forbidden, environment: environment) == choice)
  }

  @Test(
    "times for people",
    arguments: [
      (0, "0 seconds"), (-5, "0 seconds"), (1, "1 second"), (90, "90 seconds"), (119, "119 seconds"), (120, "2 minutes"),
      (3_600, "60 minutes"), (7_200, "2 hours"), (86_400, "24 hours"), (172_800, "2 days"), (7_776_000, "90 days"),
    ])
  func durations(seconds: Int64, says: String) {
    #expect(DurationText.of(seconds) == says)
  }
}
