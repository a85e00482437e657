import RESP
import Testing

/// RESP3, as the specification and what servers send have it.
struct RESPParserTests {
  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
  private static func bulk(_ word: String) -> RESPValue { .bulk(text(word)) }

  private static let values: [(bytes: String, value: RESPValue)] = [
    ("+OK\r\n", .simple(text("OK"))), ("+\r\n", .simple([])),
    ("-ERR no\r\n", .error(RESPError(text("ERR no")))), ("!6\r\nOOM no\r\n", .error(RESPError(text("OOM no")))),
    (":0\r\n", .integer(0)), (":-7\r\n", .integer(-7)), (":+7\r\n", .integer(7)),
    (":9223372036854775807\r\n", .integer(Int64.max)), (":-9223372036854775808\r\n", .integer(Int64.min)),
    ("$0\r\n\r\n", .bulk([])), ("$5\r\na\r\nb\n\r\n", bulk("a\r\nb\n")), ("$-1\r\n", .null), ("*-1\r\n", .null),
    ("_\r\n", .null),
    ("#t\r\n", .boolean(true)), ("#f\r\n", .boolean(false)),
    (",1.5\r\n", .double(1.5)), (",10\r\n", .double(10)), (",-2e-3\r\n", .double(-0.002)), (",inf\r\n", .double(.infinity)),
    (",-inf\r\n", .double(-.infinity)),
    ("(3492890328409238509324850943850943825024385\r\n", .bigNumber(text("3492890328409238509324850943850943825024385"))),
    ("=8\r\ntxt:Some\r\n", .verbatim(format: text("txt"), text("Some"))),
    ("=4\r\nmkd:\r\n", .verbatim(format: text("mkd"), [])),
    ("*0\r\n", .array([])), ("*2\r\n:1\r\n*1\r\n_\r\n", .array([.integer(1), .array([.null])])),
    ("~2\r\n+a\r\n+b\r\n", .set([.simple(text("a")), .simple(text("b"))])),
    (
      "%2\r\n+a\r\n:1\r\n$1\r\nb\r\n%0\r\n",
      .map([
        .init(key: .simple(text("a")), value: .integer(1)), .init(key: bulk("b"), value: .map([])),
      ])
    ),
    (">2\r\n$7\r\nmessage\r\n+x\r\n", .push([bulk("message"), .simple(text("x"))])),
    // Attributes say something of the value behind them, at any depth.
    ("|1\r\n+ttl\r\n:3\r\n+x\r\n", .simple(text("x"))), ("|0\r\n:1\r\n", .integer(1)),
    ("*2\r\n:1\r\n|1\r\n+a\r\n*1\r\n:0\r\n:2\r\n", .array([.integer(1), .integer(2)])),
  ]

  private enum End: Equatable {
    case values([RESPValue])
    case fault(RESPFault)
  }

  private static func receive(_ parser: inout RESPParser, _ bytes: ArraySlice<UInt8>) throws(RESPFault) -> (Int, RESPValue?) {
    try bytes.withUnsafeBytes { bytes in Result { () throws(RESPFault) in try parser.receive(bytes) } }.get()
  }

  private static func read(_ pieces: [[UInt8]], _ limits: RESPParser.Limits = .init()) -> End {
    var parser = RESPParser(limits: limits)
    var found: [RESPValue] = []
    for piece in pieces {
      var rest = piece[...]
      while !rest.isEmpty {
        do throws(RESPFault) {
          let (used, value) = try receive(&parser, rest)
          rest = rest.dropFirst(used)
          if let value { found.append(value) } else { #expect(rest.isEmpty, "bytes are left without a value") }
        } catch {
          // Then it is of no use for ever.
          #expect(throws: error) { _ = try receive(&parser, text("+OK\r\n")[...]) }
          return .fault(error)
        }
      }
    }
    return .values(found)
  }

  @Test func `every type is read at every split, and so is what follows`() {
    for (text, value) in Self.values {
      let bytes = Self.text(text + "+next\r\n")
      let expected = End.values([value, .simple(Self.text("next"))])
      #expect(Self.read([bytes]) == expected, "\(text)")
      for cut in 0...bytes.count {
        #expect(Self.read([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected, "\(text), \(cut)")
      }
      #expect(Self.read(bytes.map { [$0] }) == expected, "\(text), byte by byte")
    }
  }

  @Test func `not a number is read`() throws {
    for text in [",nan\r\n", ",-nan\r\n"] {
      guard case .values(let values) = Self.read([Self.text(text)]), case .double(let number)? = values.first else {
        Issue.record("\(text)")
        continue
      }
      #expect(number.isNaN)
    }
  }

  private static let faults: [(bytes: String, fault: RESPFault)] = [
    ("HTTP/1.1 400 Bad Request\r\n", .unknownType(0x48)), ("\r\n", .unknownType(0x0d)),
    ("\u{15}\u{3}\u{1}", .unknownType(0x15)),
    ("+a\nb\r\n", .badLine), ("+a\rb\r\n", .badLine), ("+a\r\r\n", .badLine), ("_x\r\n", .badLine), ("#x\r\n", .badLine),
    ("#\r\n", .badLine), (":1" + String(repeating: "0", count: 70), .badLine),
    (":\r\n", .badNumber), (":-\r\n", .badNumber), (":1.0\r\n", .badNumber), (":9223372036854775808\r\n", .badNumber),
    (":0x1\r\n", .badNumber), (": 1\r\n", .badNumber), ("(\r\n", .badNumber), ("(1a\r\n", .badNumber), (",\r\n", .badNumber),
    (",0x1p3\r\n", .badNumber), (",infinity\r\n", .badNumber), (",1.2.3\r\n", .badNumber),
    ("$\r\n", .badLength), ("$-2\r\n", .badLength), ("*-2\r\n", .badLength), ("%-1\r\n", .badLength), (">-1\r\n", .badLength),
    ("!-1\r\n", .badLength), ("$+1\r\n", .badLength), ("$99999999999999999999\r\n", .badNumber),
    ("$1\r\nab\r\n", .unendedString), ("$1\r\na\n\r\n", .unendedString), ("=3\r\ntxt\r\n", .unendedString),
    ("=4\r\ntxtx\r\n", .unendedString), ("*1\r\n>1\r\n+a\r\n", .misplacedPush), ("|1\r\n>0\r\n", .misplacedPush),
    ("$?\r\n", .streamed), ("*?\r\n", .streamed), ("%?\r\n", .streamed), (";4\r\n", .streamed), (".\r\n", .streamed),
    ("$1048576\r\n", .tooLarge), ("$9223372036854775807\r\n", .tooLarge), ("*16385\r\n", .tooManyValues),
    ("%8193\r\n", .tooManyValues), ("*9223372036854775807\r\n", .tooManyValues), ("%9223372036854775807\r\n", .tooManyValues),
    (String(repeating: "*1\r\n", count: 17), .tooDeep), (String(repeating: "|1\r\n", count: 17), .tooDeep),
  ]

  @Test func `what is no RESP3, or more than is read, is a fault at every split`() {
    for (text, fault) in Self.faults {
      let bytes = Self.text(text)
      #expect(Self.read([bytes]) == .fault(fault), "\(text)")
      #expect(Self.read(bytes.map { [$0] }) == .fault(fault), "\(text), byte by byte")
    }
  }

  @Test func `a reply as large as the limit is read, and one byte more is not`() {
    let frame = "$1048565\r\n".utf8.count + 2
    let bytes = Self.text("$\(1_048_576 - frame)\r\n") + [UInt8](repeating: 0x61, count: 1_048_576 - frame) + [13, 10]
    #expect(bytes.count == 1_048_576)
    guard case .values(let values) = Self.read([bytes, bytes]) else {
      Issue.record("refused")
      return
    }
    #expect(values.count == 2)
    #expect(Self.read([Self.text("$\(1_048_577 - frame)\r\n")]) == .fault(.tooLarge))
  }

  @Test(arguments: ["+", "-", "(", "*2\r\n$3\r\nabc\r\n+"])
  func `a line without an end is bounded`(start: String) {
    let piece = [UInt8](repeating: 0x31, count: 65_536)
    #expect(Self.read([Self.text(start)] + Array(repeating: piece, count: 17)) == .fault(.tooLarge))
  }

  @Test func `attributes without an end are bounded, as they belong to one value`() {
    let piece = Self.text(String(repeating: "|0\r\n", count: 10_000))
    #expect(Self.read(Array(repeating: piece, count: 30)) == .fault(.tooLarge))
  }

  @Test func `the limits are those of one value, not of the connection`() {
    var limits = RESPParser.Limits()
    (limits.bytes, limits.values, limits.depth) = (24, 2, 1)
    let value = Self.text("*2\r\n:1\r\n$1\r\na\r\n")
    guard case .values(let values) = Self.read(Array(repeating: value, count: 100), limits) else {
      Issue.record("refused")
      return
    }
    #expect(values.count == 100)
    #expect(Self.read([Self.text("*3\r\n")], limits) == .fault(.tooManyValues))
    #expect(Self.read([Self.text("*1\r\n*0\r\n")], limits) == .fault(.tooDeep))
    #expect(Self.read([Self.text("*2\r\n$15\r\n")], limits) == .fault(.tooLarge))
  }

  @Test(arguments: [
    ("WRONGPASS invalid username-password pair", "WRONGPASS"), ("ERR", "ERR"), ("no code here", ""), ("Err x", ""), ("", ""),
    ("AVERYLONGWORDTHATISNOCODEATALL x", ""),
  ])
  func `an error's code is its first word in capitals`(text: String, code: String) {
    let error = RESPError(Self.text(text))
    #expect(error.code == code)
    #expect(!"\(error)".contains("password"))
  }

  @Test func `commands are arrays of strings, whatever is in them, and say nothing of themselves`() {
    let command = RESPCommand([Self.text("AUTH"), Self.text("5ecret\r\n"), []])
    var bytes = Self.text("before")
    command.write(to: &bytes)
    #expect(bytes == Self.text("before*3\r\n$4\r\nAUTH\r\n$8\r\n5ecret\r\n\r\n$0\r\n\r\n"))
    var dumped = ""
    dump(command, to: &dumped)
    #expect(!dumped.contains("53") && !"\(command)\(String(reflecting: command))".contains("5ecret"))
  }
}
