import Operators

extension ConfigurationReader {
    /// The activation function of that key; nil where it is absent or unknown.
    mutating func activation(_ key: String) -> Activation? {
        string(key).flatMap { activation($0, key) }
    }

    /// The activation function of that name; nil where it is unknown.
    mutating func activation(_ name: String, _ key: String) -> Activation? {
        switch name {
        case "gelu", "gelu_python": return .gelu
        case "gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate": return .gelu_tanh
        case "relu": return .relu
        case "silu", "swish": return .silu
        case "tanh": return .tanh
        case "sigmoid": return .sigmoid
        case "linear": return Activation.none
        default:
            let known = "gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, silu, swish, tanh, sigmoid, linear"
            report(.unsupported, "\(key) is \(quoted(name)), known are \(known)")
            return nil
        }
    }
}
