import CSystem

/// Seconds since 1970.
public func wallClockSeconds() -> Int64 { csys_wall_clock() / 1_000_000_000 }
