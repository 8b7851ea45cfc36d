/// Why a pass over the whole graph leaves it as it is.
struct PassRefusal: Error {
    /// The node that stands in the way.
    let node: String
    let reason: String

    init(_ node: String, _ reason: String) {
        self.node = node
        self.reason = reason
    }
}
