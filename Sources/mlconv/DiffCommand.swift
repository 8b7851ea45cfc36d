import CommandLineTools
import Foundation
import GraphFile
import GraphIR

let diffCommand = Command(
    name: "diff", summary: "compare two .graph files by meaning", operands: "A.graph B.graph",
    discussion: "Names and order of nodes do not count; operators, attributes, types and constants do. Exit status 0: the same; 1: different.",
    examples: ["mlconv diff before.graph after.graph"]
) { arguments in
    guard arguments.operands.count == 2 else { throw UsageError("diff takes two .graph files") }
    let files = try arguments.operands.map { try GraphFile(contentsOf: URL(fileURLWithPath: $0)) }
    var differences = GraphDiff(files[0].graph, files[1].graph).differences
    if files[0].description != files[1].description {
        differences.append("descriptions: \(files[0].description.json.text) and \(files[1].description.json.text)")
    }
    for difference in differences { try StandardOutput.write("\(difference)\n") }
    if !differences.isEmpty { throw CommandError("the graphs differ in \(differences.count) places") }
}
