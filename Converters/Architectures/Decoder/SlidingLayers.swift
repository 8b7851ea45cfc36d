extension ConfigurationReader {
    /// How far each layer's attention reaches: 0 for everything before, else the number of positions, the query's own included.
    ///
    /// - Parameters:
    ///   - window: The reach of the layers that slide; nil where none may.
    ///   - isSliding: Which do where `layer_types` says nothing.
    mutating func windows(layers: Int, window: Int?, isSliding: (Int) -> Bool) -> [Int] {
        var slides = (0..<layers).map(isSliding)
        if has("layer_types") {
            let types = strings("layer_types")
            if types.count != layers {
                report(.configuration, "layer_types has \(types.count) entries for \(layers) layers")
            }
            for type in Set(types).sorted() where type != "full_attention" && type != "sliding_attention" {
                report(.unsupported, "layer_types has \(quoted(type)), known are full_attention, sliding_attention")
            }
            for (index, type) in types.prefix(layers).enumerated() { slides[index] = type == "sliding_attention" }
        }
        if window == nil, slides.contains(true) { report(.configuration, "sliding_window is missing, though some layers slide") }
        return slides.map { $0 ? window ?? 0 : 0 }
    }
}
