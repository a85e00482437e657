import JSON

extension StatusText {
  /// Rows of a table whose newest or worst ones say enough; the page has all.
  private static let shortTable = 10

  var revocation: [String] {
    let all = elements(status["revocation"])
    let bad = all.filter { $0["state"]?.string != "good" && $0["state"]?.string != "list" }
    guard !all.isEmpty else { return [] }
    guard !bad.isEmpty else { return ["revocation   \(all.count) answers, all good"] }
    var table = TextTable([
      .init(title: "REVOCATION OF"), .init(title: "STATE"), .init(title: "RESPONDER"), .init(title: "FETCHED"),
    ])
    for answer in bad.prefix(Self.shortTable) {
      let tone: TextTable.Tone = answer["state"]?.string == "revoked" ? .bad : .warning
      table.add([
        .init(text(answer["subject"]) ?? "?"), .init(text(answer["state"]) ?? "?", tone),
        .init(text(answer["responder"]) ?? "?"), .init(answer["fetched"]?.integer.map(distance) ?? ""),
      ])
    }
    return table.lines(width: width, ink: ink) + rest(bad.count)
  }

  /// The newest first.
  var trouble: [String] {
    var table = TextTable([
      .init(title: "TROUBLE"), .init(title: "STATUS", isNumber: true), .init(title: "CLIENT"), .init(title: "UPSTREAM"),
      .init(title: "REQUEST"), .init(title: "ERROR"), .init(title: "DETAILS"),
    ])
    let all = elements(status["trouble"])
    for trouble in all.prefix(Self.shortTable) {
      let code = trouble["status"]?.integer ?? 0
      let path = trouble["path"]?.string.map { VisibleText.of($0.replacing("…", with: "...")) } ?? ""
      let words = [text(trouble["method"]) ?? "?", (text(trouble["authority"]) ?? "") + path]
      table.add([
        .init(trouble["time"]?.integer.map(distance) ?? "?"), .init(code > 0 ? "\(code)" : "none", code >= 500 ? .bad : .plain),
        .init(text(trouble["client"]) ?? text(trouble["peer"]) ?? "?"), .init(text(trouble["upstream"]) ?? "none"),
        .init(words.joined(separator: " ")),
        .init(text(trouble["error"]) ?? (trouble["author"]?.string == "upstream" ? "answered so" : "answered")),
        .init(text(trouble["details"]) ?? ""),
      ])
    }
    return all.isEmpty ? [] : table.lines(width: width, ink: ink) + rest(all.count)
  }

  private func rest(_ count: Int) -> [String] {
    count > Self.shortTable ? [cut("\(count - Self.shortTable) more: --json")] : []
  }
}
