import Settings

/// Checks the fields that a credential writes.
extension Reading {
  /// Whether a credential can be in a field of this name; false after an error.
  func canCarryCredential(_ name: Located<String>, _ path: KeyPath) -> Bool {
    guard FieldText.isToken(name.value) else {
      error(name.place, "\(path.shown) must be an HTTP field name, not \(shown(name.value))")
      return false
    }
    guard !FieldText.reserved.contains(name.value.lowercased()) else {
      error(name.place, "\(path.shown): \(shown(name.value)) belongs to the connection and cannot carry a credential")
      return false
    }
    return true
  }

  /// Whether a text is a field's value with one placeholder; false after an error. The text is not shown: people write secrets into it.
  func isFormat(_ format: Located<String>, _ path: KeyPath, placeholder: String) -> Bool {
    guard format.value.occurrences(of: placeholder) == 1 else {
      error(format.place, "\(path.shown) must contain \(placeholder) exactly once")
      return false
    }
    guard FieldText.isFieldValue(Array(format.value.utf8)) else {
      error(format.place, "\(path.shown) contains a character that field values cannot have, or begins or ends with a space")
      return false
    }
    return true
  }
}
