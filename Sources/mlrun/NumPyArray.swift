import CommandLineTools

/// A two-dimensional f32 array in the NPY format, version 1.0 (NumPy Enhancement Proposal 1).
struct NumPyArray {
    private var data: [UInt8] = []
    private var rows = 0
    private var width: Int?

    /// Adds a row; all have one width.
    mutating func append(_ row: [Float]) throws {
        guard width == nil || width == row.count else { throw CommandError("vectors of \(width ?? 0) and \(row.count) numbers in one array") }
        width = row.count
        rows += 1
        for value in row { withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) } }
    }

    /// The file's contents; `width` is that of an array without rows.
    func bytes(width emptyWidth: Int) -> [UInt8] {
        var header = "{'descr': '<f4', 'fortran_order': False, 'shape': (\(rows), \(width ?? emptyWidth)), }"
        // Magic, version, length and header together are a multiple of 64 bytes; a newline ends the header.
        let unpadded = 10 + header.utf8.count + 1
        header += String(repeating: " ", count: (64 - unpadded % 64) % 64) + "\n"
        let length = UInt16(header.utf8.count)
        return [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(length & 0xFF), UInt8(length >> 8)] + Array(header.utf8) + data
    }
}
