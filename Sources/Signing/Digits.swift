/// Text forms of numbers and digests, as bytes.
enum Digits {
  static func append(decimal number: Int64, to output: inout [UInt8]) {
    var rest = number.magnitude
    if number < 0 { output.append(UInt8(ascii: "-")) }
    let start = output.count
    repeat {
      output.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    output[start...].reverse()
  }

  static func append(hex bytes: [UInt8], to output: inout [UInt8]) {
    for byte in bytes {
      output.append(digit(byte >> 4))
      output.append(digit(byte & 15))
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
