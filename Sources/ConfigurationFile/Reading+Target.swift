import Credentials
import Settings

/// Reads credentials that are a part of the request target: `credentials.*.query`, `credentials.*.path`.
extension Reading {
  func query(_ section: Section<QueryKeys>) -> CredentialPolicy.Kind? {
    let name = section.read(\.name)
    let value = section.read(\.value)
    guard let name, let value else { return nil }
    guard FieldText.hasNoControls(name.value.utf8) else {
      error(name.place, "\(section.path(\.name).shown) contains a control character, possibly a line break")
      return nil
    }
    guard isTargetValue(value, section.path(\.value)) else { return nil }
    return .query(name: name.value, value: value.value)
  }

  func path(_ section: Section<PathKeys>) -> CredentialPolicy.Kind? {
    let segment = section.read(\.segment)
    let value = section.read(\.value)
    let isGood = segment.map { isSegment($0, section.path(\.segment)) } ?? false
    guard let segment, let value, isTargetValue(value, section.path(\.value)), isGood else { return nil }
    let kind = CredentialPolicy.Kind.path(segment: segment.value, value: value.value)
    do throws(CredentialError) { _ = try CredentialRenderer.render(CredentialPolicy(name: "", kind: kind)) } catch {
      self.error(value.place, "\(section.path(\.value).shown): \(error)")
      return nil
    }
    return kind
  }

  /// The text is not shown: people write secrets into it.
  private func isSegment(_ segment: Located<String>, _ path: KeyPath) -> Bool {
    let text = segment.value
    guard text.occurrences(of: TargetPart.placeholder) == 1 else {
      error(segment.place, "\(path.shown) must contain \(TargetPart.placeholder) exactly once")
      return false
    }
    guard TargetPart.isSegment(text) else {
      error(
        segment.place,
        "\(path.shown) is one segment of a path: letters, digits and -._~!$&'()*+,;=:@ around \(TargetPart.placeholder)")
      return false
    }
    return true
  }

  /// An app's own secret can only be told from other segments by the text around it.
  func checkSegment(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard case .path(TargetPart.placeholder, _)? = credential?.policy?.kind, settings.clientAuthorization != .replace else {
      return
    }
    error(
      entry.valuePlace(\.clientAuthorization),
      "\(entry.path(\.clientAuthorization).shown) must be replace: segment of credential \(shown(settings.credential ?? "")) "
        + "has no text by which an app's own could be told from other segments")
  }

  /// Whether a secret can be in a target; false after an error.
  private func isTargetValue(_ value: Located<Secret>, _ path: KeyPath) -> Bool {
    guard FieldText.hasNoControls(value.value.bytes) else {
      error(value.place, "\(path.shown) contains a control character, possibly a line break")
      return false
    }
    guard value.value.bytes.count <= CredentialPolicy.maximumTargetValue else {
      error(value.place, "\(path.shown) is longer than \(CredentialPolicy.maximumTargetValue) bytes")
      return false
    }
    return true
  }
}
