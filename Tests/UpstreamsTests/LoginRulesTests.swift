import Testing

@testable import Upstreams

/// The rules by which a parent's password is tried, doubted and held back, without connections.
@Suite struct LoginRulesTests {
  /// Lines of steps, each at so many seconds and for one host, in absolute-form if a slash is before it, with a port other than 443 and
  /// an address behind it: what whoever asks is told, or what has become of its presentation.
  private struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let lines: [String]
    init(_ name: String, _ lines: [String]) { (testDescription, self.lines) = (name, lines) }
  }

  private struct Bench {
    var version: LoginVersion
    private var numbers: UInt64 = 0
    /// The last trial for each host.
    private var trials: [Substring: UInt64] = [:]

    init(hasCredential: Bool) { version = LoginVersion(hasCredential: hasCredential) }

    private func target(_ word: Substring) -> LoginTarget {
      let (name, address) = (word.prefix { $0 != "@" }, word.drop { $0 != "@" })
      let parts = name.split(separator: ":")
      var target = LoginTarget(parts[0], parts.count > 1 ? UInt16(parts[1]) ?? 443 : 443)
      target.address = address.hashValue
      return target
    }

    private mutating func ask(_ now: Int64, _ form: LoginVersion.Form, _ host: Substring) -> String {
      switch version.enter(form, target(host), number: numbers + 1, now: now) {
      case .go(nil, _): return "go"
      case .go(let number?, let isDoubted):
        numbers = number
        trials[host] = number
        return isDoubted ? "doubtedTrial" : "trial"
      case .wait(let until): return "wait \(until / 1_000_000_000)"
      case .refused: return "refused"
      case .heldBack: return "heldBack"
      case .unanswered: return "unanswered"
      }
    }

    mutating func take(_ lines: [String]) {
      for step in lines.flatMap({ $0.split(separator: ",") }) { take(step.split(separator: " "), "\(step)") }
    }

    private mutating func take(_ words: [Substring], _ step: String) {
      let now = Int64((Double(words[0]) ?? 0) * 1e9)
      let form: LoginVersion.Form = words[1].hasPrefix("/") ? .absolute : .tunnel
      let host = words[1].trimmingPrefix("/").prefix { $0 != "?" }
      let (target, trial) = (target(host), trials[host])
      if words[1].hasSuffix("?") {
        let outcome = ask(now, form, host)
        #expect(outcome == words[2...].joined(separator: " "), "\(step)")
        return
      }
      switch words[2] {
      case "accepted": version.accepted(form, target, trial: trial, now: now)
      case "refused":
        let pause = words.count > 4 ? Double(words[words.count - 1]).map { Int64($0 * 1e9) } : nil
        let isForAll = version.refused(form, target, asked: "Basic", trial: trial, pause: pause, now: now)
        #expect(isForAll == words.contains("all"), "\(step)")
      case "left": if let trial { version.leave(form, trial) }
      case "closed": if let trial { version.unanswered(form, trial, now: now) }
      default:
        let may = version.mayPresent(for: target, trial: trial, isUnasked: words.contains("unasked"), now: now)
        #expect(may == !words.contains("not"), "\(step)")
      }
    }
  }

  /// Tunnels of a version that nobody has accepted.
  private static let untried: [Case] = [
    Case(
      "one connection tries it, and a 407 refuses it for ever, in both forms",
      [
        "0 a? trial, 0 b? wait 3, 1 /c? wait 3, 2 a refused for all, 2 b? refused, 2 /c? refused, 1e9 d? refused",
        "2 /c may not",
      ]),
    Case(
      "what was accepted by CONNECT is known in both forms",
      [
        "0 a? trial, 1 a accepted, 1 b? go, 1 /c? go, 1 /c may"
      ]),
    Case(
      "an acceptance in absolute-form is none for CONNECT",
      [
        "0 /a? trial, 1 /a accepted, 1 /b? go, 1 b? trial"
      ]),
    Case(
      "an answer that says nothing of it ends the trial: the next one tries at once, alone",
      [
        "0 a? trial, 0 a left, 0.1 a? trial, 0.1 b? wait 3, 0 a left, 0.2 b? trial"
      ]),
    Case(
      "a refusal that is no verdict on the password is one for a while",
      [
        "0 a? trial, 0 a refused for all pause 30, 29 b? refused, 31 b? trial, 32 b refused for all, 1e9 a? refused"
      ]),
    Case(
      "a dead target costs others 3 s once",
      [
        "0 dead? trial, 1 good? wait 3, 3 dead? wait 30, 3 good? trial, 3.1 good accepted, 3.2 dead? go",
        "3.2 other? go",
      ]),
    Case(
      "three silent hosts make a pause, and the count begins anew",
      [
        "0 a? trial, 3 b? trial, 6 c? trial, 8 d? wait 9, 9 d? unanswered, 13.9 d? unanswered, 14 d? trial",
        "17 e? trial, 20 f? trial, 23 g? unanswered, 32.9 g? unanswered, 33 g? trial",
      ]),
    Case(
      "a host that was silent makes no pause, and gets its turn between others",
      [
        "0 dead? trial, 30 dead closed, 31 dead? unanswered, 35 dead? trial, 36 good? wait 38, 65 dead closed",
        "66 dead? unanswered, 66 good? trial",
      ]),
    Case(
      "the addresses of one host are one host: they make no pause for others, and the second one has its turn",
      [
        "0 dead@1? trial, 3 dead@2? trial, 6 dead@3? unanswered, 6 good? trial"
      ]),
    Case(
      "the second address may be the one that answers",
      [
        "0 new@1? trial, 3 new@1? wait 30, 3 new@2? trial, 3.1 new@2 accepted, 4 other? go"
      ]),
    Case(
      "a parent that hangs up gets it again after a pause, which doubles",
      [
        "0 a? trial, 0 a closed, 4.9 a? unanswered, 5 a? trial, 5 a closed, 14.9 a? unanswered, 15 a? trial",
        "15 a closed, 34.9 a? unanswered, 35 a? trial, 36 a accepted, 36 b? go",
      ]),
    Case(
      "three hosts for which it hangs up make a pause for all",
      [
        "0 a? trial, 0 a closed, 0 b? trial, 0 b closed, 0 c? trial, 0 c closed, 4.9 d? unanswered, 5 d? trial"
      ]),
    Case(
      "a late answer to any presentation counts",
      [
        "0 a? trial, 3 b? trial, 6 c? trial, 9 d? unanswered, 10 a accepted, 10 d? go"
      ]),
    Case(
      "so does a late refusal",
      [
        "0 a? trial, 3 b? trial, 6 c? trial, 7 b refused for all, 8 a closed, 1e9 d? refused"
      ]),
    Case(
      "an old trial that ends does not end the one that followed",
      [
        "0 a? trial, 4 b? trial, 0 a left, 4 c? wait 7, 0 b left, 4 c? trial"
      ]),
  ]

  /// Tunnels of a version that was accepted before.
  private static let doubted: [Case] = [
    Case(
      "a parent's 407 for one target holds that one, and another one that was served shows that it is right",
      [
        "0 a? trial, 0 a accepted, 1 b? go, 1 b accepted, 2 denied? go, 2 denied refused, 2 denied? heldBack",
        "2 new? wait 5, 2 a? doubtedTrial, 2 b? wait 5, 2.1 a accepted, 2.1 b? go, 2.1 new? go, 301 denied? heldBack",
        "303 denied? go, 303 denied refused, 902 denied? heldBack",
      ]),
    Case(
      "a second one that was served refuses it for ever",
      [
        "0 a? trial, 0 a accepted, 1 b? go, 1 b accepted, 2 c? go, 2 c refused, 2 a? doubtedTrial",
        "2 a refused for all, 1e9 b? refused, 1e9 /b? refused",
      ]),
    Case(
      "the only one that was served refuses it for ever the second time, and two others till then pause it for their like",
      [
        "0 a? trial, 0 a accepted, 1 a? go, 1 a refused, 1 a? heldBack, 2 new? wait 4, 4 new? doubtedTrial",
        "4 new refused, 5 newer? doubtedTrial, 5 newer refused, 6 newest? heldBack, 300 a? heldBack",
        "301 a? doubtedTrial, 301 a refused for all, 1e9 new? refused",
      ]),
    Case(
      "the only one that was served proves nothing by one refusal, if another one is served then",
      [
        "0 a accepted, 1 a refused, 4 new? doubtedTrial, 4 new accepted, 4 other? go, 300 a? heldBack, 301 a? go",
        "301 a refused, 301 new? doubtedTrial, 301 new accepted, 302 other? go",
      ]),
    Case(
      "a 407 for one port holds its host, but for the ports that were served",
      [
        "0 api accepted, 0 b accepted, 1 api:8443? go, 1 api:8443 refused, 1 api:8443? heldBack, 1 api:81? heldBack",
        "1 api? doubtedTrial, 1 api accepted, 1 b? go, 1 b:8443? go, 1 b:8443 refused, 1 b? doubtedTrial",
        "1 b accepted, 1 new? go, 2 api:8443? heldBack, 300 api:8443? heldBack, 301 api:8443? go",
      ]),
    Case(
      "even of the only one that was served",
      [
        "0 api accepted, 1 api:8443? go, 1 api:8443 refused, 1 api? doubtedTrial, 1 api accepted, 1 api? go, 2 b? go"
      ]),
    Case(
      "the ports of one host say it once",
      [
        "0 a accepted, 0 a:81 accepted, 0 a:82 accepted, 0 b accepted, 1 a refused, 1 a:81? doubtedTrial",
        "1 a:81 refused, 1 a:82? doubtedTrial, 1 a:82 refused, 1 b? doubtedTrial, 1 b accepted, 1 new? go",
      ]),
    Case(
      "a second host that was served refuses it for ever, whatever its port",
      [
        "0 a accepted, 0 b:81 accepted, 0 c accepted, 1 a refused, 1 b:81? doubtedTrial, 1 b:81 refused for all"
      ]),
    Case(
      "a port that was not served raises no doubt of those that were: it takes two hosts",
      [
        "0 a accepted, 0 b accepted, 1 a:8443 refused, 1 a? doubtedTrial, 1 a refused, 1 b? doubtedTrial, 1 b accepted"
      ]),
    Case(
      "one that was served refuses it for ever the second time, if none contradicts",
      [
        "0 a? trial, 0 a accepted, 0 b accepted, 1 a? go, 1 a refused, 1 a refused, 302 a? doubtedTrial",
        "302 a refused for all",
      ]),
    Case(
      "in doubt nobody waits for more than three silent hosts",
      [
        "0 a? trial, 0 a accepted, 0 b accepted, 0 c accepted, 0 d accepted, 1 x refused, 1 a? doubtedTrial",
        "1 e? wait 4, 4 b? doubtedTrial, 7 c? doubtedTrial, 8 d? wait 10, 10 e? go, 10 d? go",
      ]),
    Case(
      "in doubt hosts that were never served try after 3 s",
      [
        "0 a accepted, 1 x refused, 1 y? wait 4, 4 y? doubtedTrial, 4 y accepted, 4 z? go"
      ]),
    Case(
      "five hosts in a row that were never served, and are refused, pause it for their like alone",
      [
        "0 a accepted, 1 x1 refused, 2 x2 refused, 3 x3 refused, 4 x4 refused, 5 x5 refused, 5 new? heldBack",
        "5 a? doubtedTrial, 5 a accepted, 6 new? heldBack, 6 a? go, 66 new? go, 66 newer? heldBack, 66 new refused",
        "67 a accepted, 180 newer? heldBack, 187 newer? go, 187 newer accepted, 187 newest? go",
      ]),
    Case(
      "a connection that ends without an answer is nothing, if it was accepted",
      [
        "0 a? trial, 0 a accepted, 1 a closed, 1 a? go, 1 b? go"
      ]),
  ]

  private static let absolute: [Case] = [
    Case(
      "never accepted: a 407 holds its host, a second one's all others, and longer each time",
      [
        "0 /evil? trial, 0 /good? wait 3, 1 /evil refused, 1 /evil? heldBack, 1 /good? trial, 1 /good refused",
        "60 /other? heldBack, 62 /other? trial, 62 /other refused, 181 /more? heldBack, 183 /more? trial",
        "183 api? trial, 184 api accepted, 184 /last? go",
      ]),
    Case(
      "accepted: a 407 holds that host alone",
      [
        "0 api accepted, 1 /evil? go, 1 /evil refused, 1 /evil? heldBack, 1 /evil may not, 1 /good? go, 1 /good may",
        "1 evil? go, 62 /evil? go, 62 /evil refused, 181 /evil? heldBack, 183 /evil? go",
      ]),
    Case(
      "nor do three that were served before, if a tunnel was accepted a moment ago",
      [
        "0 api accepted, 1 /a accepted, 1 /b accepted, 1 /c accepted, 1 /d accepted, 1 /e accepted, 2 /a refused",
        "2 /b refused, 2 /c refused, 2 /d refused, 2 /e? go, 2 /new? go",
      ]),
    Case(
      "else they make a doubt, which another one ends, or makes a pause",
      [
        "1 /a accepted, 1 /b accepted, 1 /c accepted, 1 /d accepted, 1 /e accepted, 1 /f accepted, 2 /a refused",
        "2 /b refused, 2 /c refused, 2 /new? wait 5, 2 /d? doubtedTrial, 2 /e? wait 5, 2 /d accepted, 2 /e? go",
        "2 /e may, 3 /d refused, 3 /e refused, 3 /f refused, 4 /g accepted, 4 /h accepted, 4 /i accepted",
        "4 /j accepted, 4 /k accepted, 5 /g refused, 5 /h refused, 5 /i refused, 5 /j? doubtedTrial, 5 /j refused",
        "64 /k? heldBack, 66 /k? doubtedTrial",
      ]),
    Case(
      "an origin with many ports is one host",
      [
        "1 /a accepted, 1 /a:1 accepted, 1 /a:2 accepted, 1 /a:3 accepted, 1 /b accepted, 2 /a refused, 2 /a:1 refused",
        "2 /a:2 refused, 2 /a:3 refused, 2 /b? go, 2 /b may, 2 /new? go, 2 /a:4? heldBack",
      ]),
    Case(
      "a connection of the pool presents it only if it is the one that tries",
      [
        "0 /a? trial, 0 /a may, 0 /b may not, 0 /b unasked may not, 0 /a left, 0 /a may not, 0 /b unasked may"
      ]),
  ]

  @Test(arguments: untried + doubted + absolute) private func `each answer means what it can mean`(_ row: Case) {
    var bench = Bench(hasCredential: true)
    bench.take(row.lines)
  }

  @Test func `without a credential an origin's 407 is its own, and the parent's counts for tunnels`() {
    var bench = Bench(hasCredential: false)
    bench.take([
      "0 /evil? go, 0 /evil refused, 29 /evil? heldBack, 1 /good? go, 1 evil? go, 31 /evil? go, 31 /evil refused",
      "62 /evil? go, 62 api refused for all, 91 other? refused, 62 /good? go, 62 /good may, 93 other? go",
    ])
  }

  @Test func `without a credential a parent that has served somebody is left alone for the hosts that it refused`() {
    var bench = Bench(hasCredential: false)
    bench.take([
      "0 good? go, 0 good accepted, 1 bad? go, 1 bad refused, 1 good? go, 1 new? go, 1 bad? heldBack, 30 bad:81? heldBack",
      "31 bad? go, 31 bad refused, 32 good refused, 33 good? heldBack, 33 new? go, 63 good? go",
    ])
  }

  @Test func `of many holds the one that ends first is dropped`() {
    var holds = LoginHolds(capacity: 8)
    func target(_ host: Int) -> LoginTarget { LoginTarget(host: host, port: 443) }
    for host in 0..<8 { holds.hold(target(host), asked: "", first: Int64(100 - host), longest: 1000, at: 0) }
    holds.hold(target(8), asked: "", first: 50, longest: 1000, at: 1)
    #expect((0..<9).filter { holds.live($0, at: 2) != nil } == [0, 1, 2, 3, 4, 5, 6, 8])
  }

  @Test func `of many hosts the oldest are forgotten`() {
    var hosts = LoginHosts(capacity: 4)
    #expect((0..<6).map { hosts.insert($0) } == Array(repeating: true, count: 6))
    let isNew = hosts.insert(5)
    #expect((0..<6).filter(hosts.contains) == [2, 3, 4, 5] && !isNew)
    let changes = [hosts.remove(3), hosts.remove(3), hosts.insert(3), hosts.insert(6)]
    #expect(changes == [true, false, true, true])
    #expect((0..<7).filter(hosts.contains) == [3, 4, 5, 6])
    // What is still of use stays.
    hosts.insert(4)
    hosts.insert(7)
    #expect((0..<8).filter(hosts.contains) == [3, 4, 6, 7])
  }
}
