import Foundation
import JSON
import Testing

@Suite("JSON is read and written exactly")
struct JSONTests {
  @Test(
    "JSON that is not exactly JSON is refused",
    arguments: [
      "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "01", "1.", "-", "1e", "+1", "nul", "\"\\x\"", "\"\u{1}\"",
      "\"abc",
      "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "1 2", "{a:1}", "'a'",
      String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
    ])
  func badJSON(_ json: String) {
    #expect(throws: JSONError.self) { try JSONParser.parse(Array(json.utf8)) }
  }

  @Test("bytes that are not UTF-8 are refused in strings")
  func badUTF8() {
    #expect(throws: JSONError.self) { try JSONParser.parse([0x22, 0xff, 0x22]) }
    #expect(throws: JSONError.self) { try JSONParser.parse([0x22, 0xc0, 0x80, 0x22]) }
  }

  @Test("what was written is read back")
  func roundTrip() throws {
    let value = JSONValue.object([
      .init(
        name: "a \"quoted\" \\ name\n", value: .array([.null, .bool(true), .number("-1.5e3"), .string("\u{1F600}\u{7f}")])),
      .init(name: "", value: .object([])),
    ])
    #expect(try JSONParser.parse(value.text) == value)
    #expect(try JSONParser.parse(Array("\"\\ud83d\\ude00\\n\\/\"".utf8)) == .string("\u{1F600}\n/"))
  }

  @Test("text for people has one member a line, and reads the same")
  func indented() throws {
    let value: JSONValue = [
      "name": "a \"b\"", "numbers": [1, 2, true], "none": [], "empty": [:], "nested": [["a": 1], ["b": ["c": [[], [3]]]]],
    ]
    let text = """
      {
        "name": "a \\"b\\"",
        "numbers": [1, 2, true],
        "none": [],
        "empty": {},
        "nested": [
          {
            "a": 1
          },
          {
            "b": {
              "c": [
                [],
                [3]
              ]
            }
          }
        ]
      }
      """
    #expect(String(decoding: value.indented, as: UTF8.self) == text)
    #expect(try JSONParser.parse(value.indented) == value)
    #expect(JSONValue.number("1").indented == Array("1".utf8))
  }

  @Test("a value nested as deep as is allowed is read, one deeper is not")
  func depth() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    _ = try JSONParser.parse(nested(JSONParser.maximumDepth))
    let error = #expect(throws: JSONError.self) { try JSONParser.parse(nested(JSONParser.maximumDepth + 1)) }
    #expect(error?.reason == .tooDeep)
    #expect(throws: JSONError.self) { try JSONParser.parse(nested(1_000_000)) }
  }

  @Test("a member twice is named as such, spelled otherwise too")
  func duplicates() {
    for text in ["{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "[{\"b\":{\"a\":1,\"c\":1,\"a\":1}}]"] {
      let error = #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) }
      #expect(error?.reason == .duplicateName)
    }
  }

  @Test("another reader reads what is written, with everything that a string may hold")
  func foreignReader() throws {
    let odd = "quote \" backslash \\ newline \n tab \t nul \u{0} del \u{7f} é 漢"
    let value: JSONValue = [
      "text": .string(odd), "number": .integer(7),
      "inner": ["yes": .bool(true), "list": .array([.string("a"), .string("b\"")])],
      "none": .array([]), "nothing": .null, odd: .bool(false),
    ]
    let read = try #require(try JSONSerialization.jsonObject(with: Data(value.text)) as? [String: Any])
    #expect(read["text"] as? String == odd)
    #expect(read["number"] as? Int == 7)
    #expect((read["inner"] as? [String: Any])?["list"] as? [String] == ["a", "b\""])
    #expect((read["inner"] as? [String: Any])?["yes"] as? Bool == true)
    #expect((read["none"] as? [Any])?.isEmpty == true)
    #expect(read["nothing"] is NSNull)
    #expect(read[odd] as? Bool == false)
  }
}
