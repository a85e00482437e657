import Foundation
import Testing

/// The dashboard in a browser.
@Suite(.serialized) struct PeerDashboardTests {
  private static let admin = "admin: 127.0.0.1:0\n"

  /// An entry whose token lasts for seconds, one whose origin has another key, one whose person must log in.
  private func configuration(_ tokens: TokenServer, more: String = "") throws -> String {
    let origin = "https://localhost:\(tokens.origin.ports.https)"
    return """
      \(Self.admin)listen: 127.0.0.1:0
      upstreams:
        - {match: api.test, origin: "\(origin)", credential: api}
        - {match: other.test, origin: "\(origin)", trust: pinned}
        - {match: mail.test, origin: "\(origin)", credential: calendar}
      \(more)
      credentials:
        api:
          oauth2:
            grant: client_credentials
            token_url: \(tokens.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
        calendar:
          oauth2: {grant: authorization_code, issuer: "\(tokens.issuer)", client_id: me, scope: openid}
      token_store: {file: "\(try Surroundings.newFolder())/tokens.json"}
      trust:
        default:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
        pinned:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
          - pinned_public_keys: {pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], expires: 2999-01-01}

      """
  }

  private func url(_ proxy: ProxyProcess) -> String { "http://127.0.0.1:\(proxy.adminPort)/" }

  /// Sends requests until the page says this.
  private func says(
    _ text: String, in section: String, _ browser: Browser, while load: () throws -> Void, seconds: Double = 60
  ) throws -> Bool {
    try eventually(seconds: seconds) {
      try load()
      return try browser.section(section).contains(text)
    }
  }

  @Test(.needs("chromium"))
  func `every section is alive: load, a token that ends and comes back, an origin that is not trusted, a login`() throws {
    let tokens = try TokenServer(#"{"expires_in": 4}"#)
    try withProxy(try configuration(tokens)) { proxy throws in
      let browser = try Browser()
      try browser.open(url(proxy))
      func load() throws { _ = try proxy.ask(tokens.url()) }
      #expect(try browser.section("upstreams").contains("api.test"))
      #expect(try browser.section("trouble").contains("No request was answered by the proxy itself"))
      // The page follows, without being loaded again.
      _ = try browser.isTrue("window.isSame = true")
      #expect(try says("fresh", in: "credentials", browser, while: load))
      #expect(
        try browser.comes("document.querySelector('#u2 .spark') && document.querySelector('.chart .all').getAttribute('d')"))
      #expect(try browser.section("upstreams").contains("trusted"))

      #expect(try proxy.ask("http://other.test/").status == 502)
      #expect(try says("refused: ", in: "upstreams", browser, while: {}))
      #expect(try browser.section("attention").contains("Not trusted"))
      #expect(try says("tls_certificate_error", in: "trouble", browser, while: {}))
      #expect(try browser.section("trust").contains("1 pinned key"))

      #expect(try proxy.ask("http://mail.test/secret/path").status == 502)
      #expect(try says("needs you: run authproxy login calendar", in: "credentials", browser, while: {}))
      #expect(try browser.section("attention").contains("authproxy login calendar"))
      #expect(try says("mail.test/secret/…", in: "trouble", browser, while: {}))

      try tokens.set(#"{"queue": [{"status": 503, "body": {}}, {"status": 503, "body": {}}, {"status": 503, "body": {}}]}"#)
      #expect(try says("failing for", in: "credentials", browser, while: load))
      #expect(try says("failing for", in: "attention", browser, while: load))
      #expect(
        try eventually(seconds: 90) {
          try load()
          let words = try browser.text("document.getElementById('c0').innerText")
          return words.contains("fresh") && !words.contains("failing")
        })
      #expect(try browser.isTrue("window.isSame"))
      let seen = try browser.seen()
      #expect(seen.urls.count > 2 && seen.urls.allSatisfy { $0 == url(proxy) }, "\(Set(seen.urls))")
      #expect(seen.texts.isEmpty && seen.dialogs.isEmpty, "\(seen)")
      #expect(try !browser.text("document.documentElement.outerHTML").contains(Configuration.secretMark))
    }
  }

  @Test(.needs("chromium")) func `a reload with an error is shown, then one without`() throws {
    try withProxy(Self.admin + Configuration.https()) { proxy throws in
      let browser = try Browser()
      try browser.open(url(proxy))
      #expect(try browser.section("attention").contains("Nothing needs you."))
      let good = try String(contentsOfFile: proxy.configurationPath, encoding: .utf8)
      try ProxyProcess.write(good + "\nunknown_key: 1\n", to: proxy.configurationPath)
      proxy.process.signal(SIGHUP)
      #expect(try says("unknown key 'unknown_key'", in: "attention", browser, while: {}))
      #expect(try browser.text("document.getElementById('top').innerText").contains("the last reload failed"))
      try ProxyProcess.write(good + "\nname: another\n", to: proxy.configurationPath)
      proxy.process.signal(SIGHUP)
      #expect(try says("Nothing needs you.", in: "attention", browser, while: {}))
      #expect(
        try browser.comes(
          "document.title === 'another: ready' && document.getElementById('top').innerText.includes('configuration 2')"))
    }
  }

  @Test(.needs("chromium")) func `a proxy that has left is noticed, and the page in the background asks nothing`() throws {
    try withProxy(Self.admin + Configuration.https()) { proxy throws in
      let browser = try Browser()
      try browser.open(url(proxy))
      let hides =
        "Object.defineProperty(document, 'hidden', {value: %, configurable: true}); "
        + "document.dispatchEvent(new Event('visibilitychange'))"
      #expect(try eventually { try browser.seen().urls.count >= 3 })
      _ = try browser.text(hides.replacing("%", with: "true").replacing("; ", with: ", "))
      // One may be on its way.
      _ = try browser.number("new Promise(done => setTimeout(() => done(1), 1500))")
      let count = try browser.seen().urls.count
      _ = try browser.number("new Promise(done => setTimeout(() => done(1), 3000))")
      #expect(try browser.seen().urls.count == count)
      _ = try browser.text(hides.replacing("%", with: "false").replacing("; ", with: ", "))
      #expect(try eventually { try browser.seen().urls.count > count })
      proxy.process.signal(SIGSTOP)
      defer { proxy.process.signal(SIGCONT) }
      #expect(try browser.comes("document.getElementById('note').textContent.includes('does not answer')", seconds: 60))
      proxy.process.signal(SIGCONT)
      #expect(try browser.comes("document.getElementById('note').textContent === ''", seconds: 60))
    }
  }

  @Test(.needs("chromium")) func `without JavaScript it is complete, sorts, filters and loads itself again`() throws {
    try withProxy(Self.admin + Configuration.https()) { proxy throws in
      let browser = try Browser()
      _ = try proxy.ask("http://api.test/")
      try browser.open(url(proxy), script: false)
      for section in ["upstreams", "credentials", "trust", "trouble"] { #expect(try !browser.section(section).isEmpty) }
      #expect(try browser.isTrue("getComputedStyle(document.querySelector('#filter button')).display !== 'none'"))
      #expect(try eventually(seconds: 30) { try browser.seen().urls.count >= 2 })
      try browser.open(url(proxy) + "?q=nothing-like-this&sort=-rate", script: false)
      #expect(try browser.section("upstreams").contains("No upstream matches."))
      #expect(try browser.text("document.querySelector('#q').value") == "nothing-like-this")
      #expect(try browser.text("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending")
    }
  }

  @Test(.needs("chromium")) func `sorting and filtering in place keep the focus`() throws {
    try withProxy(Self.admin + Configuration.https()) { proxy throws in
      let browser = try Browser()
      try browser.open(url(proxy))
      _ = try browser.text("document.querySelector('thead th:nth-child(2) a').click()")
      #expect(try browser.comes("document.querySelector('[aria-sort=descending]') && location.search === '?sort=-rate'"))
      let typing =
        "(q => {q.focus(); q.value = '%'; q.dispatchEvent(new Event('input', {bubbles: true}))})(document.getElementById('q'))"
      _ = try browser.text(typing.replacing("%", with: "nothing"))
      #expect(try browser.comes("document.body.innerText.includes('No upstream matches.')"))
      _ = try browser.text(typing.replacing("%", with: "api"))
      #expect(try browser.comes("document.querySelectorAll('tr[id^=u]').length === 1"))
      #expect(try browser.isTrue("document.activeElement.id === 'q' && document.activeElement.value === 'api'"))
      #expect(try browser.text("location.search") == "?q=api&sort=-rate")
    }
  }

  /// Contrast as WCAG 2.2 section 1.4.3 computes it, of every text on the page; the least one.
  private static let leastContrast = """
    (() => {
      const light = c => [0, 1, 2].map(i => c[i] / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
      const colour = text => (text.match(/[\\d.]+/g) || []).map(Number);
      const ground = e => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] === 1) return c } return [255, 255, 255] };
      let least = 21;
      for (const e of document.querySelectorAll('body *')) {
        if (['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.nodeName)) continue;
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        const [a, b] = [light(colour(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
        least = Math.min(least, (a + .05) / (b + .05));
      }
      return least;
    })()
    """

  @Test(.needs("chromium")) func `dark and light, and on a phone: legible, and nothing is wider than the screen`() throws {
    let tokens = try TokenServer()
    try withProxy(try configuration(tokens)) { proxy throws in
      _ = try proxy.ask(tokens.url())
      for _ in 0..<3 { _ = try proxy.ask("http://other.test/"); _ = try proxy.ask("http://mail.test/") }
      let browser = try Browser()
      var grounds: Set<String> = []
      for width in [360, 1280] {
        for scheme in ["light", "dark"] {
          try browser.open(url(proxy), width: width, scheme: scheme)
          #expect(try browser.number("document.documentElement.scrollWidth") <= Double(width))
          let contrast = try browser.number(Self.leastContrast)
          #expect(contrast >= 4.5, "\(scheme): \(contrast)")
          grounds.insert(try browser.text("getComputedStyle(document.body).backgroundColor"))
          // By keyboard and for screen readers: what scrolls has a name, can be reached, and tables have heads.
          #expect(
            try browser.isTrue(
              "[...document.querySelectorAll('.wide')].every(e => e.tabIndex === 0 && e.getAttribute('aria-label'))"))
          #expect(try browser.isTrue("[...document.querySelectorAll('thead th')].every(e => e.scope === 'col')"))
          #expect(
            try browser.isTrue(
              "[...document.querySelectorAll('svg')].every(e => e.getAttribute('aria-hidden') || e.getAttribute('aria-label'))")
          )
          #expect(try browser.isTrue("document.querySelectorAll('header, nav, main, footer').length === 4"))
        }
      }
      #expect(grounds.count == 2)
    }
  }

  @Test(.needs("chromium")) func `names of strangers are harmless, and change no layout`() throws {
    // No name of the configuration is longer than 200 bytes; those of requests are.
    let name = #"<img src=x onerror=alert(1)><script>alert(2)</script>"'"# + "\u{202e}" + String(repeating: "w", count: 120)
    let quoted = name.replacing("'", with: "''")
    let entry = "  - {match: b.test, name: '\(quoted)', origin: https://localhost:1}\n"
    try withProxy(Self.admin + (try Configuration.https()).replacing("credentials:", with: entry + "credentials:")) {
      proxy throws in
      _ = try proxy.ask("http://b.test/")
      _ = try proxy.ask("http://api.test/%3Cscript%3Ealert(3)%3C/script%3E<b>/x")
      _ = try proxy.ask("http://evil<script>alert(4)</script>.test/")
      _ = try proxy.ask("http://unlisted.test/\(String(repeating: "a", count: 8_000))/<script>alert(5)</script>")
      let browser = try Browser()
      for script in [true, false] {
        try browser.open(url(proxy) + "?q=%22%3E%3Cscript%3Ealert(6)%3C/script%3E", width: 1280, script: script)
        try browser.open(url(proxy), width: 1280, script: script)
        #expect(try browser.number("document.documentElement.scrollWidth") <= 1280)
        #expect(try browser.number("document.querySelectorAll('script').length") == 1)
        #expect(try browser.number("document.querySelectorAll('img, b.x, [onerror]').length") == 0)
        #expect(try browser.number("Math.max(...[...document.querySelectorAll('tr[id^=u]')].map(e => e.offsetHeight))") < 90)
      }
      try browser.open(url(proxy))
      #expect(try eventually { try browser.seen().urls.count >= 3 })
      let seen = try browser.seen()
      #expect(seen.dialogs.isEmpty && seen.texts.isEmpty && seen.urls.allSatisfy { $0 == url(proxy) }, "\(seen)")
    }
  }

  @Test(.needs("chromium")) func `another Host is not answered, and no other page may hold this one`() throws {
    try withProxy(Self.admin + Configuration.https()) { proxy throws in
      let browser = try Browser()
      // Chromium resolves names below localhost to loopback by itself: so looks a name that leads here.
      try browser.open("http://rebound.localhost:\(proxy.adminPort)/")
      #expect(try browser.text("document.body.innerText").contains("admin.hosts"))
      try browser.open("http://localhost:\(proxy.adminPort)/")
      #expect(try browser.section("upstreams").contains("api.test"))
      let frame = """
        new Promise(done => { const frame = document.createElement('iframe'); frame.onload = () => {
        try { done(frame.contentDocument.body.innerText.includes('api.test')) } catch { done(false) } };
        frame.src = '/'; document.body.append(frame) })
        """
      #expect(try browser.number("\(frame).then(isShown => isShown ? 1 : 0)") == 0)
    }
  }

  @Test(.needs("chromium")) func `a thousand upstreams: the page comes at once, and follows within 50 ms`() throws {
    let port = try Origin.shared().ports.https
    let entries = (0..<1_000).map { "  - {match: u\($0).test, origin: \"https://localhost:\(port)\"}" }.joined(separator: "\n")
    try withProxy(Self.admin + "upstreams:\n\(entries)\n") { proxy throws in
      for number in 0..<20 { _ = try proxy.ask("http://u\(number).test/") }
      let browser = try Browser()
      try browser.open(url(proxy))
      #expect(try browser.section("upstreams").contains("50 of 1000 rows"))
      #expect(try browser.number("new Blob([document.documentElement.outerHTML]).size") < 81_920)
      // What the page's thread computes for an update. The least of ten, as the first ones are compiled.
      var least = Double.infinity
      for _ in 0..<10 {
        let (count, before) = (try browser.seen().urls.count, try browser.busy())
        #expect(try eventually(seconds: 30) { try browser.seen().urls.count > count })
        _ = try browser.number("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(1))))")
        least = min(least, try browser.busy() - before)
      }
      #expect(least < 0.05, "\(least) s")
    }
  }
}
