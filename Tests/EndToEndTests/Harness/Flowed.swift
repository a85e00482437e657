extension String {
  /// With one space wherever lines were broken and indented.
  var flowed: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
