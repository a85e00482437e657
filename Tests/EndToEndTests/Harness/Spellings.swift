import Foundation
import Testing

/// How a secret could appear in a text: as it is, in hexadecimal, in base64 of either alphabet at each of the three offsets, in a URL.
struct Spellings {
  private let texts: Set<String>

  init(of secret: String) { self.init(of: Array(secret.utf8)) }

  init(of bytes: [UInt8]) {
    var texts: Set<String> = [String(decoding: bytes, as: UTF8.self)]
    for offset in 0..<3 {
      // The digits that depend on the secret alone.
      let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString().filter { $0 != "=" }
      let whole = String(text.dropFirst(offset == 0 ? 0 : offset + 1).dropLast())
      texts.formUnion([whole, whole.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")])
    }
    let unreserved = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
    for isUpper in [false, true] {
      let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: isUpper) }
      texts.formUnion([digits.joined(), digits.map { "%" + $0 }.joined()])
      texts.insert(
        zip(bytes, digits).map { unreserved.contains($0) ? String(UnicodeScalar($0)) : "%" + $1 }.joined())
    }
    self.texts = texts
  }

  /// - Returns: a spelling that is in the text, and where, in bytes; nil: there is none.
  func first(in text: Data) -> (spelling: String, offset: Int)? {
    for spelling in texts {
      if let range = text.range(of: Data(spelling.utf8)) { return (spelling, range.lowerBound) }
    }
    return nil
  }

  /// Records each secret of these that is in one of the texts, with what stands around it.
  static func expectNone(
    of secrets: some Sequence<[UInt8]>, in texts: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let texts = texts.map { Data($0.utf8) }
    for secret in Set(secrets) {
      let spellings = Spellings(of: secret)
      for text in texts {
        guard let (spelling, offset) = spellings.first(in: text) else { continue }
        let around = String(decoding: text.dropFirst(max(offset - 200, 0)).prefix(500), as: UTF8.self)
        Issue.record("\(spelling) in: \(around)", sourceLocation: sourceLocation)
      }
    }
  }
}
