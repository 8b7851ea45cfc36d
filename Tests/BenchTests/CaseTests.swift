@testable import BenchmarkSuite
import Testing

@Suite struct CaseTests {
    @Test func namesAreUniqueAndSayWhatTheyAre() {
        let names = CaseList.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(names.contains("minilm-1x16-f32"))
        #expect(names.contains("gpt2-decode128-int4"))
        #expect(names.contains("wordpiece-text"))
    }

    @Test func inputsAreTheSameInEveryRun() throws {
        // The first numbers of SplitMix64 with seed 1234567, from its authors' test vector.
        var random = SplitMix64(seed: 1_234_567)
        #expect([random.next(), random.next()] == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973])
        #expect(CaseList.mixedLengths.allSatisfy { (8...128).contains($0) })
        let rows = CaseList.sentences([5, 16])
        #expect(rows.map(\.count) == [5, 16])
        #expect(rows.allSatisfy { $0.first == 101 && $0.last == 102 })
        #expect(rows == CaseList.sentences([5, 16]))
    }

    @Test func aStartIsTheWorkOfANewProcess() {
        let encoder = BenchmarkCase("m", "start", .start, .f32, .rows([[1]]))
        #expect(BenchmarkTask(encoder, threads: 1, models: "x").kind == .encode)
        let decoder = BenchmarkCase("m", "start", .start, .f32, .prompt([1], newTokens: 1))
        #expect(BenchmarkTask(decoder, threads: 1, models: "x").kind == .decode)
    }
}
