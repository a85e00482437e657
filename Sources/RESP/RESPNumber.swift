/// Numbers as RESP3 writes them.
enum RESPNumber {
  static func integer(_ line: [UInt8]) throws(RESPFault) -> Int64 {
    guard isInteger(line), let number = Int64(String(decoding: line, as: UTF8.self)) else { throw .badNumber }
    return number
  }

  /// Digits behind an optional sign.
  static func isInteger(_ line: some Collection<UInt8>) -> Bool {
    let digits = line.first.map { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") } ?? false ? line.dropFirst() : line[...]
    return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
  }

  static func double(_ line: [UInt8]) throws(RESPFault) -> Double {
    switch String(decoding: line, as: UTF8.self) {
    case "inf", "+inf": return .infinity
    case "-inf": return -.infinity
    case "nan", "-nan": return .nan
    case let text:
      // Swift takes more than this, hexadecimal digits for one.
      guard line.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }), let number = Double(text) else {
        throw .badNumber
      }
      return number
    }
  }
}
