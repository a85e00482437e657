import Foundation
import Testing

/// git with https:// remotes: it knows no credential, and the server wants one.
@Suite struct PeerGitTests {
  private let home: String
  private let server: ChildProcess
  private let port: String

  init() throws {
    home = try Surroundings.newFolder()
    let made = try Peer.sh(
      """
      set -e; cd "$1"
      git init -q --bare served.git; git -C served.git config http.receivepack true; git -C served.git symbolic-ref HEAD refs/heads/main
      git init -q -b main first; cd first
      git config user.name app; git config user.email app@example.test
      head -c 3000000 /dev/urandom > large; git add large; git commit -qm first
      git push -q ../served.git main
      """, [home])
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    server = try ChildProcess(
      Surroundings.python,
      [Surroundings.support + "/git_server.py", try Surroundings.pki(), home, "Bearer \(Configuration.token)"])
    guard let line = server.awaitLine(where: { _ in true }) else { throw HarnessError("no server: \(server.errors)") }
    port = line
  }

  private func configuration(_ credential: String = Configuration.token) -> String {
    """
    upstreams:
      - {match: "https://api.test", origin: "https://localhost:\(port)", credential: api}
    credentials:
      api: {bearer: {token: \(credential)}}
    intercept: {ca: {generate: ca}, publish: published}

    """
  }

  @Test(.needs("git")) func `clone, push in chunks, and fetch`() throws {
    let readme = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    #expect(readme.contains("| git | `GIT_SSL_CAINFO` | `https_proxy` |"))
    try withProxy(configuration()) { proxy in
      let cloned = try proxy.told(#"cd "$1" && git clone -q https://api.test/served.git copy"#, home)
      #expect(cloned.status == .exited(0), "\(cloned.errors)")
      let large = try (0...1).map { try Data(contentsOf: URL(fileURLWithPath: home + ["/first", "/copy"][$0] + "/large")) }
      #expect(large[0] == large[1] && large[0].count == 3_000_000)
      // More than http.postBuffer, so git sends chunks.
      let pushed = try proxy.told(
        """
        set -e; cd "$1/copy"
        git config user.name app; git config user.email app@example.test
        head -c 2000000 /dev/urandom > more; git add more; git commit -qm second
        git push -q origin main; git rev-parse HEAD
        """, home)
      #expect(pushed.status == .exited(0), "\(pushed.errors)")
      let fetched = try proxy.told(
        #"cd "$1/first" && git fetch -q https://api.test/served.git main && git rev-parse FETCH_HEAD"#, home)
      #expect(fetched.status == .exited(0) && fetched.output == pushed.output && fetched.output.count == 41, "\(fetched)")
    }
  }

  @Test(.needs("git")) func `without the CA, or with another credential, it gets nothing`() throws {
    let clone = #"cd "$1" && GIT_TERMINAL_PROMPT=0 git clone -q https://api.test/served.git copy"#
    try withProxy(configuration()) { proxy in
      let refused = try proxy.told(clone, home, trusting: false)
      #expect(refused.status == .exited(128) && refused.errors.contains("certificate"), "\(refused.errors)")
    }
    try withProxy(configuration("other-5ecret")) { proxy in
      let refused = try proxy.told(clone, home)
      #expect(refused.status == .exited(128) && !refused.errors.contains("certificate"), "\(refused.errors)")
    }
  }
}
