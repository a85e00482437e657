import Settings

extension Form where Value == HTTPVersion {
  /// A text: YAML's number 1.1 is the same here.
  static var httpVersion: Form {
    let names = HTTPVersion.allCases.map(\.rawValue)
    return Form(shape: .words(names)) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      if let version = HTTPVersion(rawValue: text.value) { return version }
      reading.error(
        text.place,
        "\(written.path.shown) must be \(listed(names, "or")), not \(shown(text.value))\(suggestion(for: text.value))")
      return nil
    } write: {
      .text($0.rawValue)
    }
  }

  /// By meaning: '1' is one edit from '2', and means 1.1.
  private static func suggestion(for text: String) -> String {
    let lower = text.lowercased()
    let number = lower.drop { !$0.isNumber }
    let meant: String? =
      switch number {
      case "1", "1.0", "1.1", "1.10": HTTPVersion.http1.rawValue
      case "2", "2.0": HTTPVersion.http2.rawValue
      case "": Suggestion.nearest(to: text, among: [HTTPVersion.auto.rawValue])
      default: nil
      }
    return meant.map { " (did you mean '\($0)'?)" } ?? ""
  }
}

extension Reading {
  /// Reports `http_version: 2` where no connection can be HTTP/2.
  func checkHTTPVersion(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard settings.httpVersion == .http2 else { return }
    func report(_ reason: String) {
      error(
        entry.valuePlace(\.httpVersion),
        "\(entry.path(\.httpVersion).shown) cannot be 2: \(reason); say 'http_version: 1.1' or leave it out")
    }
    switch settings.origin.scheme {
    case .https: break
    case .http: return report("the origin is http://, and HTTP/2 without TLS is not spoken")
    case .unix: return report("the origin is a unix socket, and HTTP/2 without TLS is not spoken")
    }
    if case .negotiate? = credential?.policy?.kind {
      report(
        "credential \(shown(settings.credential ?? "")) authenticates connections, and HTTP/2 has no such credential")
    }
  }
}
