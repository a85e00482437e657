import Settings

extension Form where Value == Bool {
  static var boolean: Form {
    Form(shape: .boolean) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      switch text.value {
      case "true": return true
      case "false": return false
      default:
        reading.error(text.place, "\(written.path.shown) must be true or false, not \(shown(text.value))")
        return nil
      }
    } write: {
      .text("\($0)")
    }
  }
}

extension Form where Value: RawRepresentable<String> & Sendable {
  static func choice(_ values: [Value]) -> Form {
    Form(shape: .words(values.map(\.rawValue))) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      if let value = values.first(where: { $0.rawValue == text.value }) { return value }
      reading.error(text.place, "\(written.path.shown) \(notAmong(text.value, values.map(\.rawValue)))")
      return nil
    } write: {
      .text($0.rawValue)
    }
  }
}

extension Form where Value == Int {
  static func integer(_ range: ClosedRange<Int>) -> Form {
    measure(.integer(range), range, "from \(range.lowerBound) to \(range.upperBound)", Units.integer) { "\($0)" }
  }

  /// Milliseconds.
  static func duration(atLeast least: Int = 1) -> Form {
    let range = least...Units.longestDuration
    return measure(.duration(range), range, "at least \(least)ms", Units.duration) { Units.text(duration: $0) }
  }

  /// Milliseconds.
  static func duration(_ range: ClosedRange<Int>) -> Form {
    let bounds = "from \(Units.text(duration: range.lowerBound)) to \(Units.text(duration: range.upperBound))"
    return measure(.duration(range), range, bounds, Units.duration) { Units.text(duration: $0) }
  }

  /// Milliseconds, of something that lasts for days.
  static func longDuration(atLeast least: Int) -> Form {
    let range = least...Units.longestDuration
    let bounds = "at least \(Units.text(duration: least))"
    return measure(.longDuration(range), range, bounds, Units.longDuration) { Units.text(duration: $0) }
  }

  /// Bytes.
  static func size(_ range: ClosedRange<Int>) -> Form {
    let bounds = "from \(Units.text(size: range.lowerBound)) to \(Units.text(size: range.upperBound))"
    return measure(.size(range), range, bounds, Units.size) { Units.text(size: $0) }
  }

  private static func measure(
    _ shape: Shape, _ range: ClosedRange<Int>, _ bounds: String,
    _ parse: @escaping @Sendable (String) throws(UnitError) -> Int, _ write: @escaping @Sendable (Int) -> String
  ) -> Form {
    Form(shape: shape) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      do throws(UnitError) {
        let value = try parse(text.value)
        if range.contains(value) { return value }
        reading.error(text.place, "\(written.path.shown) must be \(bounds), not \(shown(text.value))")
      } catch {
        reading.error(text.place, "\(written.path.shown): \(shown(text.value)) \(error)")
      }
      return nil
    } write: {
      .text(write($0))
    }
  }
}

extension Form where Value == Int? {
  /// `word` means nil.
  static func integer(_ range: ClosedRange<Int>, or word: String) -> Form {
    Form(shape: .oneOf([.words([word]), .integer(range)])) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      if text.value == word { return .some(nil) }
      if let value = try? Units.integer(text.value), range.contains(value) { return value }
      reading.error(
        text.place,
        "\(written.path.shown) must be \(word) or a number from \(range.lowerBound) to \(range.upperBound), not \(shown(text.value))"
      )
      return nil
    } write: {
      .text($0.map { "\($0)" } ?? word)
    }
  }

  /// Milliseconds; `word` means nil.
  static func duration(atLeast least: Int, or word: String) -> Form {
    Form(shape: .oneOf([.words([word]), .duration(least...Units.longestDuration)])) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      if text.value == word { return .some(nil) }
      do throws(UnitError) {
        let value = try Units.duration(text.value)
        if value >= least { return value }
        reading.error(text.place, "\(written.path.shown) must be \(word) or at least \(least)ms, not \(shown(text.value))")
      } catch {
        reading.error(text.place, "\(written.path.shown): \(shown(text.value)) \(error); or \(word)")
      }
      return nil
    } write: {
      .text($0.map(Units.text(duration:)) ?? word)
    }
  }
}

extension Form where Value == Set<Int> {
  /// A list of statuses from 400 to 599. Reports other items, and leaves them out.
  static var statuses: Form {
    let range = 400...599
    return Form(shape: .list(of: .integer(range))) { reading, written in
      guard let items = Form<[TextItem]>.texts(.anything).read(reading, written) else { return nil }
      var statuses: Set<Int> = []
      for item in items {
        if let status = try? Units.integer(item.text.value), range.contains(status) {
          statuses.insert(status)
        } else {
          reading.error(
            item.text.place,
            "\(item.path.shown) must be a status from \(range.lowerBound) to \(range.upperBound), not \(shown(item.text.value))"
          )
        }
      }
      return statuses
    } write: {
      .list($0.sorted().map(String.init))
    }
  }
}

/// `must be a, b or c, not 'd' (did you mean ...?)`
func notAmong(_ text: String, _ names: [String]) -> String {
  "must be \(listed(names, "or")), not \(shown(text))\(suggestion(for: text, among: names))"
}

/// `a, b or c`
func listed(_ names: [String], _ conjunction: String) -> String {
  names.count < 2 ? names.joined() : "\(names.dropLast().joined(separator: ", ")) \(conjunction) \(names.last ?? "")"
}
