import Settings

extension Reading {
  /// What `strip_prefix: true` needs.
  func checkPrefix(_ entry: Section<UpstreamKeys>, _ matches: [MatchDraft], _ origin: UpstreamSettings.Origin?) {
    let path = entry.path(\.stripPrefix).shown
    if let origin, !origin.path.isEmpty {
      error(
        entry.keyPlace(\.stripPrefix),
        "\(path) cannot be true: 'origin' has the path '\(origin.path)', which takes the place of the match's prefix")
    }
    for draft in matches where draft.match.pathPrefix.isEmpty {
      error(
        entry.keyPlace(\.stripPrefix), "\(path) cannot be true: \(draft.path.shown) at \(draft.place) has no path prefix")
    }
  }
}
