// Columns: unpacks what replay/report packed; docs/report.md describes the format.

/** @typedef {Record<string, any>} Header */

/**
 * The header and columns of a report's block.
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<{header: Header, column: (name: string) => Column}>}
 */
export async function unpack(packed) {
  const stream = new Blob([packed]).stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const block = new Uint8Array(await new Response(stream).arrayBuffer());
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

/** Numbers of seven bits a byte, lowest first, read one after the other. */
export class Column {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** The next number, at least 0. */
  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127, scale = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }

  /** The next number, which may be negative. */
  nextSigned() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  /** How many numbers there are. */
  count() {
    let count = 0;
    for (const byte of this.bytes) if (byte < 128) count++;
    return count;
  }

  /** All of them. */
  unsigned() {
    const { bytes } = this, numbers = new Float64Array(this.count());
    // Written out: a file has millions of them.
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

  /** All of them, each the sum of those before and itself. */
  summed() {
    const numbers = this.unsigned();
    for (let i = 0, sum = 0; i < numbers.length; i++) {
      const value = numbers[i];
      numbers[i] = sum += value % 2 ? -(value + 1) / 2 : value / 2;
    }
    return numbers;
  }
}

/** What base64 says. @param {string} base64 @returns {Uint8Array<ArrayBuffer>} */
export function bytesOf(base64) {
  const quick = /** @type {any} */ (Uint8Array).fromBase64;
  if (quick) return /** @type {Uint8Array<ArrayBuffer>} */ (quick(base64));
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
