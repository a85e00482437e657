import HTTPWire
import Testing

@Suite("A field's name")
struct FieldNameTests {
  static func recognised(_ name: String) -> FieldName { Array(name.utf8).withUnsafeBytes { FieldName($0) } }

  @Test("is recognised in any case", arguments: FieldName.allCases.filter { $0 != .other })
  func recognised(id: FieldName) {
    let text = id.text.description
    #expect(Self.recognised(text) == id)
    #expect(Self.recognised(text.uppercased()) == id)
    #expect(Self.recognised(text.lowercased()) == id)
  }

  @Test("that is almost another is itself", arguments: FieldName.allCases.filter { $0 != .other })
  func almost(id: FieldName) {
    let text = Array(id.text.description.utf8)
    for index in text.indices {
      for byte in UInt8.min...UInt8.max where byte | 0x20 != text[index] | 0x20 {
        var changed = text
        changed[index] = byte
        #expect(changed.withUnsafeBytes { FieldName($0) } != id)
      }
      #expect(Self.recognised(String(decoding: text[..<index], as: UTF8.self)) != id)
    }
    #expect(Self.recognised(id.text.description + "x") != id)
    #expect(Self.recognised(id.text.description.replacing("-", with: "_")) == (text.contains(45) ? .other : id))
  }

  @Test("fits the set of names")
  func set() {
    #expect(FieldName.allCases.count <= 64)
    var set = FieldSet()
    for name in FieldName.allCases {
      #expect(!set.contains(name))
      set.insert(name)
      #expect(set.contains(name))
    }
  }

  @Test("equals another ignoring case and `_` against `-`, for the credential's field")
  func folded() {
    func equal(_ one: String, _ other: String) -> Bool {
      Array(one.utf8).withUnsafeBytes { fieldNameEquals($0, Array(other.utf8)) }
    }
    #expect(equal("X_Api-KEY", "x-api_key"))
    #expect(!equal("X-Api-Key", "X-Api-Keys"))
    #expect(!equal("X.Api.Key", "X-Api-Key"))
  }

  @Test("drops every spelling of the credential's field")
  func drop() {
    var request = ParsedRequest(fields: "X-Api-Key: 1\r\nx_api_key: 2\r\nX-Api-Keys: 3")
    let found = request.bytes.withUnsafeBytes { request.head.fields.drop(named: Array("x-api-key".utf8), in: $0) }
    #expect(found)
    #expect(request.head.fields.map(\.dropped) == [false, true, true, false])
  }
}
