// Columns: unpacks the columns that replay/report packed (format: docs/report.md).

/** @typedef {Record<string, any>} Header */

/**
 * The header and columns of a report's block.
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<{header: Header, column: (name: string) => Column}>}
 */
export async function unpack(packed) {
  const block = await inflated(packed);
  const length = new DataView(block.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(block.subarray(4, 4 + length)));
  /** @type {Map<string, Uint8Array>} */
  const found = new Map();
  let at = 4 + length;
  for (const [name, size] of header.columns) {
    found.set(name, block.subarray(at, at + size));
    at += size;
  }
  return { header, column: (name) => new Column(found.get(name) ?? new Uint8Array(0)) };
}

/** @param {Uint8Array<ArrayBuffer>} packed */
async function inflated(packed) {
  // A Blob's stream would come from another process.
  const { writable, readable } = new DecompressionStream("deflate-raw"), writer = writable.getWriter();
  const written = Promise.all([writer.write(packed), writer.close()]);
  const [found] = await Promise.all([new Response(readable).arrayBuffer(), written]);
  return new Uint8Array(found);
}

/** A sequence of variable-length numbers: seven bits per byte, lowest bits first. */
export class Column {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  /** The number of numbers. */
  count() {
    const { bytes } = this;
    let count = 0;
    for (let i = 0; i < bytes.length; i++) count += bytes[i] < 128 ? 1 : 0;
    return count;
  }

  /** All numbers. @returns {Float64Array<ArrayBuffer>} */
  unsigned() { return this._into(new Float64Array(this.count())); }

  /** All numbers, if each is below 2^31. @returns {Int32Array<ArrayBuffer>} */
  small() { return this._into(new Int32Array(this.count())); }

  /** All numbers, which are signed. @returns {Float64Array<ArrayBuffer>} */
  signed() { return this.unsigned().map(signed); }

  /** The running sums of all numbers, which are signed differences. @returns {Float64Array<ArrayBuffer>} */
  summed() {
    const numbers = this.unsigned();
    for (let i = 0, sum = 0; i < numbers.length; i++) numbers[i] = sum += signed(numbers[i]);
    return numbers;
  }

  /** Like `summed`, if each is below 2^30. @returns {Int32Array<ArrayBuffer>} */
  smallSummed() {
    const numbers = this.small();
    for (let i = 0, sum = 0; i < numbers.length; i++) numbers[i] = sum += (numbers[i] >>> 1) ^ -(numbers[i] & 1);
    return numbers;
  }

  /** @template {Float64Array|Int32Array} T @param {T} numbers @returns {T} */
  _into(numbers) {
    const { bytes } = this;
    if (numbers.length === bytes.length) {
      numbers.set(bytes);
      return numbers;
    }
    // Inlined for speed: a file has millions of numbers.
    for (let i = 0, at = 0; i < numbers.length; i++) {
      let byte = bytes[at++], value = byte & 127;
      for (let scale = 128; byte > 127; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      numbers[i] = value;
    }
    return numbers;
  }
}

/** Decode a signed number (zigzag). @param {number} value */
export function signed(value) {
  return value % 2 ? -(value + 1) / 2 : value / 2;
}

/** Decode base64. @param {string} base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(base64) {
  const quick = /** @type {any} */ (Uint8Array).fromBase64;
  if (quick) return /** @type {Uint8Array<ArrayBuffer>} */ (quick(base64));
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
