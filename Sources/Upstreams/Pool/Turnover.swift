/// How many of a pool's connections became free in the present turn of the loop and the one before.
struct Turnover {
  private var turn: UInt64 = 0
  private var count = 0
  private var before = 0

  @inline(__always)
  mutating func note(in turn: UInt64) {
    if turn != self.turn { begin(turn) }
    count += 1
  }

  private mutating func begin(_ turn: UInt64) {
    before = turn == self.turn &+ 1 ? count : 0
    count = 0
    self.turn = turn
  }

  func freed(in turn: UInt64) -> Int {
    switch turn &- self.turn {
    case 0: count + before
    case 1: count
    default: 0
    }
  }
}
