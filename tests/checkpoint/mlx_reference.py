"""An independent reading of MLX affine packing, in numpy alone. Writes goldens/mlx_affine.safetensors.

Written from the text of the format (word and byte layout), not from the C++ code: 2, 4 and 8 bits
are fields of 32-bit words, lowest first; 3 bits lie in byte triples of 8 values, 5 bits in byte
quintuples of 8 values, 6 bits in byte triples of 4 values. w = scale * q + bias.

Run: python3 tests/checkpoint/mlx_reference.py (any numpy; the seed is fixed, so the file is too).
"""

import json
import pathlib
import struct

import numpy as np

ROWS, COLS = 3, 256


def unpack(words, bits):
    """words: uint32 [rows, cols * bits / 32] -> uint8 [rows, cols]."""
    if bits in (2, 4, 8):
        shifts = np.arange(0, 32, bits, dtype=np.uint32)
        fields = (words[:, :, None] >> shifts) & np.uint32(2**bits - 1)
        return fields.reshape(words.shape[0], -1).astype(np.uint8)
    pack_bytes, pack_values = {3: (3, 8), 5: (5, 8), 6: (3, 4)}[bits]
    packs = words.astype("<u4").view(np.uint8).reshape(words.shape[0], -1, pack_bytes)
    number = sum(packs[:, :, i].astype(np.uint64) << np.uint64(8 * i) for i in range(pack_bytes))
    fields = [(number >> np.uint64(bits * i)) & np.uint64(2**bits - 1) for i in range(pack_values)]
    return np.stack(fields, axis=-1).reshape(words.shape[0], -1).astype(np.uint8)


def widen(halves, dtype):
    if dtype == "BF16":
        return (halves.astype(np.uint32) << 16).view(np.float32)
    return halves.view(np.float16 if dtype == "F16" else np.float32).astype(np.float32)


def dequantize(words, scales, biases, bits, group):
    """Exact in binary64 for these sizes, then rounded once to binary32, as one fma does."""
    q = unpack(words, bits).astype(np.float64)
    s = np.repeat(scales.astype(np.float64), group, axis=1)
    b = np.repeat(biases.astype(np.float64), group, axis=1)
    return (s * q + b).astype(np.float32)


def narrow(values, dtype):
    if dtype == "BF16":  # truncation will do: any bf16 value serves
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    if dtype == "F16":
        return values.astype(np.float16).view(np.uint16)
    return values.view(np.uint32)


def main():
    random = np.random.default_rng(20261130)
    tensors = []
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            for dtype in ("BF16", "F16", "F32") if group == 64 else ("BF16",):
                name = f"b{bits}.g{group}.{dtype}."
                words = random.integers(0, 2**32, (ROWS, COLS * bits // 32), dtype=np.uint32)
                shape = (ROWS, COLS // group)
                scales = narrow(random.uniform(-0.1, 0.1, shape).astype(np.float32), dtype)
                biases = narrow(random.uniform(-2, 2, shape).astype(np.float32), dtype)
                values = dequantize(words, widen(scales, dtype), widen(biases, dtype), bits, group)
                tensors += [
                    (name + "weight", "U32", words),
                    (name + "scales", dtype, scales),
                    (name + "biases", dtype, biases),
                    (name + "q", "U8", unpack(words, bits)),
                    (name + "values", "F32", values),
                ]
    header, offset = {}, 0
    for name, dtype, array in tensors:
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    path = pathlib.Path(__file__).parent / "goldens" / "mlx_affine.safetensors"
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, array in tensors:
            file.write(array.tobytes())


if __name__ == "__main__":
    main()
