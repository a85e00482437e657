import EventIO
import KubernetesStore
import Settings

extension KubernetesSettings {
  init(_ settings: KubernetesStoreSettings) {
    let token = settings.token
    let lane: Lane
    if case .command = token { lane = .helpers } else { lane = .files }
    self.init(server: settings.address, namespace: settings.namespace, secret: settings.secret, lane: lane) {
      do throws(SecretError) { return .success(try token.read()) } catch { return .failure(TokenUnreadable("\(error)")) }
    }
  }
}
