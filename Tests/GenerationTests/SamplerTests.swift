import Foundation
import JSON
import TestSupport
import Testing

@testable import Tasks

@Suite struct SamplerTests {
    /// The distributions of transformers' logits processors.
    @Test func distributionsEqualTransformers() throws {
        let file = Fixtures.folder.appendingPathComponent("sampling/sampling.json")
        let cases = try #require(try JSONParser.parse(Data(contentsOf: file))["cases"]?.arrayValue)
        #expect(cases.count == 30)
        for (number, json) in cases.enumerated() {
            func value(_ key: String) throws -> Double { try #require(json[key]?.doubleValue) }
            var options = SamplingOptions()
            options.repetitionPenalty = Float(try value("repetition_penalty"))
            options.temperature = Float(try value("temperature"))
            options.topK = Int(try value("top_k"))
            options.topP = Float(try value("top_p"))
            options.minP = Float(try value("min_p"))
            options.seed = 1
            let logits = try #require(json["logits"]?.arrayValue).compactMap { $0.doubleValue.map(Float.init) }
            let history = try #require(json["history"]?.arrayValue).compactMap(\.intValue)
            let expected = Dictionary(
                uniqueKeysWithValues: try #require(json["probabilities"]?.arrayValue).map { pair in
                    (try #require(pair.arrayValue?.first?.intValue), try #require(pair.arrayValue?.last?.doubleValue))
                })
            var sampler = try Sampler(options)
            let kept = try logits.withUnsafeBufferPointer { try sampler.distribution($0, history: history) }
            let total = kept.reduce(0) { $0 + $1.weight }
            #expect(Set(kept.map(\.id)) == Set(expected.keys), "case \(number)")
            for (id, weight) in kept { #expect(abs(weight / total - (expected[id] ?? -1)) < 1e-5, "case \(number), token \(id)") }
        }
    }

    @Test func drawsFollowTheDistribution() throws {
        let logits: [Float] = [1, 3, -2, 0.5, 2.5, -40]
        var options = SamplingOptions()
        options.seed = 42
        var sampler = try Sampler(options)
        var counts = [Int](repeating: 0, count: logits.count)
        for _ in 0..<20_000 { counts[try logits.withUnsafeBufferPointer { try sampler.next($0, history: []) }] += 1 }
        let total = logits.reduce(0) { $0 + exp(Double($1)) }
        for (id, logit) in logits.enumerated() {
            let expected = exp(Double(logit)) / total * 20_000
            // Five standard deviations.
            #expect(abs(Double(counts[id]) - expected) <= 5 * max(expected, 1).squareRoot(), "token \(id): \(counts[id]), expected \(expected)")
        }
    }

    @Test func equalSeedsGiveEqualDraws() throws {
        let logits = (0..<500).map { sin(Float($0)) * 3 }
        func draws(_ seed: UInt64) throws -> [Int] {
            var options = SamplingOptions()
            options.topP = 0.95
            options.seed = seed
            var sampler = try Sampler(options)
            return try (0..<50).map { _ in try logits.withUnsafeBufferPointer { try sampler.next($0, history: []) } }
        }
        #expect(try draws(7) == draws(7))
        #expect(try draws(7) != draws(8))
    }

    @Test func greedyTakesTheFirstOfTheLikeliest() throws {
        var sampler = try Sampler(.greedy)
        let logits: [Float] = [.nan, -1, 4, 4, -.infinity]
        #expect(try logits.withUnsafeBufferPointer { try sampler.next($0, history: []) } == 2)
        var penalised = SamplingOptions.greedy
        penalised.repetitionPenalty = 2
        sampler = try Sampler(penalised)
        #expect(try logits.withUnsafeBufferPointer { try sampler.next($0, history: [2]) } == 3)
    }

    @Test func logitsThatAreNoNumbersAreAnError() throws {
        for logits: [Float] in [[.nan, .nan], [-.infinity, .nan], [1, .infinity], []] {
            for options in [SamplingOptions.greedy, SamplingOptions()] {
                var sampler = try Sampler(options)
                #expect(throws: TaskError.self) { _ = try logits.withUnsafeBufferPointer { try sampler.next($0, history: []) } }
            }
        }
    }

    @Test func optionsOutOfRangeAreErrors() {
        let changes: [(inout SamplingOptions) -> Void] = [
            { $0.temperature = -1 }, { $0.temperature = .nan }, { $0.topK = -1 }, { $0.topP = 0 }, { $0.topP = 1.5 }, { $0.minP = -0.1 },
            { $0.repetitionPenalty = 0 }, { $0.repetitionPenalty = .infinity },
        ]
        for change in changes {
            var options = SamplingOptions()
            change(&options)
            #expect(throws: TaskError.self) { _ = try Sampler(options) }
        }
    }
}
