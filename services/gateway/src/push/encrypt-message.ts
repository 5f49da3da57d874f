import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

/** The keys that a browser gives with its subscription. */
export interface BrowserKeys {
  /** An uncompressed point of P-256. */
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
}

/** The random values of one message, which only the test of the RFC's example chooses. */
interface Randomness {
  readonly privateKey: Uint8Array;
  readonly salt: Uint8Array;
}

const RECORD_BYTES = 4_096;
/** The delimiter of the last record, https://www.rfc-editor.org/rfc/rfc8188#section-2. */
const LAST_RECORD = 2;

/**
 * Encrypts a message for one browser: `aes128gcm` in one record (https://www.rfc-editor.org/rfc/rfc8291#section-4). Zeros fill the text
 * up to `paddedBytes`, so that the push service does not learn its length. Throws when `p256dh` is not a point of the curve.
 */
export function encryptMessage(
  text: Uint8Array,
  { p256dh, auth }: BrowserKeys,
  { paddedBytes = 0, random }: { readonly paddedBytes?: number; readonly random?: Randomness } = {},
): Buffer {
  const ecdh = createECDH("prime256v1");
  if (random === undefined) ecdh.generateKeys();
  else ecdh.setPrivateKey(random.privateKey);
  const salt = random?.salt ?? randomBytes(16);
  const own = ecdh.getPublicKey();
  const shared = ecdh.computeSecret(p256dh);
  const input = derive(shared, auth, {
    info: [Buffer.from("WebPush: info\0"), p256dh, own],
    bytes: 32,
  });
  const key = derive(input, salt, {
    info: [Buffer.from("Content-Encoding: aes128gcm\0")],
    bytes: 16,
  });
  const nonce = derive(input, salt, {
    info: [Buffer.from("Content-Encoding: nonce\0")],
    bytes: 12,
  });
  const header = Buffer.alloc(5);
  header.writeUInt32BE(RECORD_BYTES);
  header.writeUInt8(own.length, 4);
  const padding = Buffer.alloc(1 + Math.max(0, paddedBytes - text.length));
  padding.writeUInt8(LAST_RECORD);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const record = [cipher.update(text), cipher.update(padding), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([salt, header, own, ...record]);
}

function derive(
  input: Uint8Array,
  salt: Uint8Array,
  { info, bytes }: { readonly info: readonly Uint8Array[]; readonly bytes: number },
): Buffer {
  return Buffer.from(hkdfSync("sha256", input, salt, Buffer.concat(info), bytes));
}
