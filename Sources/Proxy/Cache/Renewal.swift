import Cache

/// What a validation means for those who wait for it.
enum Renewal {
  /// They get this.
  case answer(StoredAnswer)
  /// It was for the asker alone: each asks for itself, now and for a while.
  case forOne
  /// What was validated has been replaced or dropped meanwhile: they look into the store again.
  case outdated
}
