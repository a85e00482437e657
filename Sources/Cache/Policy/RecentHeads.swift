/// What answers have said lately about their storage: most of an origin say the same. Confined to a loop, which owns it.
public final class RecentHeads {
  /// Of Cache-Control.
  var directives = RecentTexts<CacheDirectives>()
  var vary = RecentTexts<VaryReading>()

  public init() {}
}
