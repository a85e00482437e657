import CFuzzer
import HTTPWire
import Routing

@_cdecl("RedirectFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    let input = Array(UnsafeRawBufferPointer(start: bytes, count: count))
    guard input.count > 3 else { return 0 }
    follow(Choice(input), input[3...].split(separator: 10, omittingEmptySubsequences: false).map { Array($0) })
    return 0
  }
}

/// What the first three bytes say.
private struct Choice {
  let status: Int
  let method: String
  let body: Redirect.Body
  let entry: Int
  let isRepeated: Bool
  /// Where the path has one more segment; nil: nowhere.
  let hidden: Int?
  let client: ClientIdentity

  init(_ bytes: [UInt8]) {
    status = [301, 302, 303, 307, 308][Int(bytes[0] % 5)]
    method = ["GET", "HEAD", "POST", "PUT", "get"][Int(bytes[0] / 5 % 5)]
    body = [.none, .kept, .arriving, .gone, .onItsWay][Int(bytes[0] / 25 % 5)]
    entry = Int(bytes[1] & 15) % World.entries.count
    isRepeated = bytes[1] & 0xf0 == 0xf0
    hidden = bytes[2] & 1 == 1 ? Int(bytes[2] >> 3) : nil
    client = ClientIdentity(name: bytes[2] & 2 == 2 ? "billing" : nil, access: .all)
  }
}

/// - Parameter lines: path and query of what the app asked for, then each redirect's Location.
private func follow(_ choice: Choice, _ lines: [[UInt8]]) {
  let start = World.entries[choice.entry].origins[0]
  let origin = HTTPURL.origin(isHTTPS: start.isHTTPS, host: start.host.isEmpty ? "a.many.test" : start.host, port: start.port)
  // An app's own path may have a backslash; no redirect adds one.
  guard !lines[0].contains(0x5c), let first = try? HTTPURL(origin + String(decoding: lines[0], as: UTF8.self)),
    first.origin == origin
  else { return }
  var asked = AskedTargets(AskedTarget(method: choice.method, url: first))
  var place: RoutePlace? = RoutePlace(entry: choice.entry, match: 0)
  var known = [asked.last]
  for location in lines.dropFirst() {
    let (last, before) = (asked.last, place)
    let locations = choice.isRepeated ? [location, location] : [location]
    // A path that the app's own URL does not have cannot hide anything.
    let hidden = choice.hidden.flatMap { before == nil || last.url.pathAndQuery.isEmpty ? nil : $0 }
    guard let redirect = redirect(choice, locations, asked, hidden) else { return }
    check(redirect, after: last, known, choice)
    if let hidden { check(redirect, hidden, behind: last.url, location) }
    guard
      let destination = try? World.router.destination(
        of: redirect.target, from: before, first: RoutePlace(entry: choice.entry, match: 0), asked: "a.one.test",
        by: World.rules,
        for: choice.client)
    else { return }
    place = World.check(destination, of: redirect.target.url, from: before, choice.client)
    checkHeads(redirect, destination, location)
    asked.append(redirect.target)
    known.append(redirect.target)
  }
}

private func redirect(_ choice: Choice, _ locations: [[UInt8]], _ asked: AskedTargets, _ hidden: Int?) -> Redirect? {
  locations[0].withUnsafeBytes { bytes in
    try? Redirect(
      status: choice.status, locations: locations.map { _ in bytes }, asked: asked, hidden: hidden, limit: World.rules.limit,
      body: choice.body)
  }
}

/// Whoever is asked, it is a URL that reads the same everywhere, without userinfo, never from https to http, and never twice.
private func check(_ redirect: Redirect, after last: AskedTarget, _ known: [AskedTarget], _ choice: Choice) {
  let url = redirect.target.url
  precondition(!choice.isRepeated, "one of two Locations is followed")
  precondition(url.isHTTPS || !last.url.isHTTPS, "from https to http")
  let text = url.text
  precondition(text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x5c && $0 != 0x23 }, "a character that no URL has")
  let authority = text.utf8.drop { $0 != 0x2f }.dropFirst(2).prefix { $0 != 0x2f && $0 != 0x3f }
  precondition(!authority.contains(0x40) && !authority.isEmpty, "userinfo")
  guard let again = try? HTTPURL(text) else { preconditionFailure("it cannot be read again") }
  precondition(again.text == text && again.isSameHost(url) && again.isHTTPS == url.isHTTPS, "it is read as another one")
  precondition(url.pathAndQuery.utf8.first == 0x2f, "no path")
  let path = url.pathAndQuery.prefix { $0 != "?" }
  precondition(!path.split(separator: "/").contains { $0 == "." || $0 == ".." }, "a dot segment")
  precondition(!known.contains { $0.method == redirect.target.method && $0.url.text == text }, "it was asked before")
  precondition(known.count <= World.rules.limit, "too many")
  precondition(redirect.target.method == last.method || redirect.target.method == "GET")
  if !redirect.dropsContent { precondition(choice.body != .gone && choice.body != .onItsWay, "no body to repeat") }
}

/// A reference that is relative to the path stays where the origin was asked, and does not bring the segment with it.
private func check(_ redirect: Redirect, _ hidden: Int, behind base: HTTPURL, _ location: [UInt8]) {
  guard location.withUnsafeBytes({ HTTPURL.isRelativeToPath($0) }) else { return }
  precondition(redirect.target.url.origin == base.origin, "a relative path names another host")
  let brings = String(decoding: location, as: UTF8.self).contains(":hidden:") || base.pathAndQuery.contains(":hidden:")
  precondition(brings || !redirect.target.url.pathAndQuery.contains(":hidden:"), "the segment is in the target")
}
