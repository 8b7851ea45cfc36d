/// What 8-bit arithmetic does to one dense layer, measured on inputs that texts gave it.
///
/// Smoothing divides every input by a factor and multiplies its weights by the same, which moves the range of inputs that are always large into
/// the weights (Xiao et al., SmoothQuant, 2022, equation 4).
public struct LayerMeasurement: Sendable, Hashable {
    /// The error of the products, as the root of its squares' sum, relative to that of the products in f32.
    public let error: Double
    /// The same with smoothing; nil where there is none to try.
    public let smoothedError: Double?
    /// A factor for each input.
    public let smoothing: [Float]?

    public init(error: Double, smoothedError: Double? = nil, smoothing: [Float]? = nil) {
        self.error = error
        self.smoothedError = smoothedError
        self.smoothing = smoothing
    }

    /// A layer that is further off stays as it is: inputs of that kind are mostly a few large ones, beside which 8 bits leave nothing of the others.
    public static let limit = 0.05
    /// Smoothing costs a product for each input, so it has to take away that part of the error.
    static let worthwhile = 0.3
    /// Errors below that are as small as those of the weights themselves: nothing to smooth.
    static let smoothedFrom = 0.02

    public var isSmoothed: Bool {
        guard let smoothedError, smoothing != nil else { return false }
        return error >= Self.smoothedFrom && smoothedError < error * (1 - Self.worthwhile)
    }

    /// The error of the form that is chosen.
    public var chosenError: Double { isSmoothed ? smoothedError ?? error : error }

    public var staysFloat: Bool { !(chosenError <= Self.limit) }
}
