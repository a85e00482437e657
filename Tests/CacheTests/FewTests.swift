import Testing

@testable import Cache

@Suite("A list of few") struct FewTests {
  private final class Thing: Sendable {}

  @Test("does what an array does")
  func sameAsArray() {
    var random = Seeded(7)
    for _ in 0..<200 {
      var few = Few<Thing>()
      var array: [Thing] = []
      for _ in 0..<30 {
        switch random.next() % 5 {
        case 0, 1:
          let thing = Thing()
          few.append(thing)
          array.append(thing)
        case 2:
          let thing = array.randomElement(using: &random) ?? Thing()
          #expect(few.remove(thing) == array.contains { $0 === thing })
          array.removeAll { $0 === thing }
        case 3: #expect(few.removeFirst() === (array.isEmpty ? nil : array.removeFirst()))
        default:
          let gone = Set(array.filter { _ in random.next() & 1 == 0 }.map(ObjectIdentifier.init))
          few.removeAll { gone.contains(ObjectIdentifier($0)) }
          array.removeAll { gone.contains(ObjectIdentifier($0)) }
        }
        #expect(few.count == array.count && few.isEmpty == array.isEmpty)
        #expect(few.all.map(ObjectIdentifier.init) == array.map(ObjectIdentifier.init))
        #expect(few.only === (array.count == 1 ? array[0] : nil))
        #expect(few.last { _ in true } === array.last)
        #expect(array.allSatisfy { thing in few.contains { $0 === thing } })
      }
    }
  }
}
