/// SHA-256 (FIPS 180-4), for the hashes in the vectors.
enum SHA256 {
    private static let constants: [UInt32] = {
        // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if primes.allSatisfy({ candidate % $0 != 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The integer cube root of prime * 2^96, low 32 bits.
            var root: UInt64 = 0
            var step = UInt64(1) << 34
            while step > 0 {
                let next = root | step
                let square = next.multipliedFullWidth(by: next)
                // next^3 <= prime << 96, compared in 192 bits.
                let low = square.low.multipliedFullWidth(by: next)
                let high = square.high.multipliedFullWidth(by: next)
                let (middle, carry) = high.low.addingReportingOverflow(low.high)
                let top = high.high + (carry ? 1 : 0)
                let limit = UInt64(prime) << 32
                if top == 0, middle < limit || (middle == limit && low.low == 0) { root = next }
                step >>= 1
            }
            return UInt32(truncatingIfNeeded: root)
        }
    }()

    static func hex(_ message: [UInt8]) -> String {
        var state: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        var data = message + [0x80]
        while data.count % 64 != 56 { data.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) {
            data.append(UInt8(truncatingIfNeeded: (UInt64(message.count) * 8) >> UInt64(shift)))
        }
        func rotate(_ x: UInt32, _ n: UInt32) -> UInt32 { x >> n | x << (32 - n) }
        for block in stride(from: 0, to: data.count, by: 64) {
            var w = (0..<16).map { i in (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(data[block + i * 4 + $1]) } }
            for i in 16..<64 {
                let s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3
                let s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10
                w.append(w[i - 16] &+ s0 &+ w[i - 7] &+ s1)
            }
            var v = state
            for i in 0..<64 {
                let s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)
                let choice = (v[4] & v[5]) ^ (~v[4] & v[6])
                let t1 = v[7] &+ s1 &+ choice &+ constants[i] &+ w[i]
                let s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])
                v = [t1 &+ s0 &+ majority, v[0], v[1], v[2], v[3] &+ t1, v[4], v[5], v[6]]
            }
            for i in 0..<8 { state[i] = state[i] &+ v[i] }
        }
        return state.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }
}
