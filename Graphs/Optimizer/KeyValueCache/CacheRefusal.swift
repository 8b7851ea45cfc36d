/// Why a graph's attention does not move to a key-value cache.
struct CacheRefusal: Error {
    /// The node that stands in the way.
    let node: String
    let reason: String

    init(_ node: String, _ reason: String) {
        self.node = node
        self.reason = reason
    }
}
