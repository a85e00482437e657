import Foundation
import Testing

/// A reload drops what it has changed, and nothing else.
@Suite struct CacheReloadTests {
  @Test func `what is as before stays, another credential or rule finds nothing`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    let file = try Configuration.https("cache: {}")
    try withProxy(file) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url).text == "first")
      try proxy.reload(file + "limits: {connections: 5000}\n")
      #expect(try proxy.ask(url).text == "first")
      try proxy.reload(file.replacingOccurrences(of: Configuration.token, with: "tok-5ecret-0002"))
      #expect(try proxy.ask(url).text == "second")
      try proxy.reload(file.replacingOccurrences(of: "cache: {}", with: "cache: {}\n    decompress: true"))
      #expect(try proxy.ask(url).text == "third")
    }
  }
}
