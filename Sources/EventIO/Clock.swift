import CSystem

/// Milliseconds of a clock that goes on while the machine is suspended, read now and not once a turn: for what other processes count on.
public func bootTimeMilliseconds() -> Int64 { csys_boottime() / 1_000_000 }

/// Seconds since 1970.
public func wallClockSeconds() -> Int64 { csys_wall_clock() / 1_000_000_000 }
