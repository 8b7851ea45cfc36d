import GraphIR
import Operators
import Tensors

extension ModelBuilder {
    /// Layer normalisation of the last dimension, of `x + residual` where there is one.
    mutating func norm(
        _ x: ValueID, _ name: String, residual: ValueID? = nil, _ part: WeightLoader.Part = .base, hasParameters: Bool = true,
        output: String? = nil
    ) throws -> ValueID {
        let width = innerWidth(x)
        let scale = hasParameters ? try weight("\(name).weight", [width], part) : nil
        let bias = hasParameters ? try weight("\(name).bias", [width], part) : nil
        return try apply(LayerNorm(epsilon: configuration.normEpsilon), [x, scale, bias, residual], name, output)
    }

    /// Root mean square normalisation of the last dimension.
    ///
    /// - Parameter hasUnitOffset: The tensor holds what the scale differs from 1 by, as Gemma stores it; the graph gets the scale itself.
    mutating func rmsNorm(_ x: ValueID, _ name: String, hasUnitOffset: Bool = false, output: String? = nil) throws -> ValueID {
        let shape = [innerWidth(x)]
        let scale = hasUnitOffset
            ? try weights.changed("\(name).weight", shape, to: shape, in: &graph) { try $0.addingOne() } : try weight("\(name).weight", shape)
        return try apply(RMSNorm(epsilon: configuration.normEpsilon), [x, scale], name, output)
    }
}

extension Tensor {
    /// Every element plus 1, in f32.
    fileprivate func addingOne() throws -> Tensor { try Tensor(floats: converted(to: .f32).floats().map { $0 + 1 }, shape: shape) }
}
