/// The digests of what told requests apart lately. Most apps send one Accept for ever, and its digest costs as much as the rest of a
/// look-up. Only fields of negotiation are kept in the clear: see `VariantReader`. Confined to a loop, which owns it.
public final class RecentVariants {
  private var digests = RecentTexts<CacheDigest>()

  public init() {}

  func digest(of message: UnsafeRawBufferPointer) -> CacheDigest { digests.value(of: message) { CacheDigest(of: message) } }
}
