import { createDecipheriv, hkdfSync, type ECDH } from "node:crypto";

/** Decrypts a message as a browser does, https://www.rfc-editor.org/rfc/rfc8291#section-4. Throws when it is malformed. */
export function decryptMessage(
  message: Buffer,
  { ecdh, auth }: { readonly ecdh: ECDH; readonly auth: Buffer },
): Buffer {
  const salt = message.subarray(0, 16);
  const recordBytes = message.readUInt32BE(16);
  const idBytes = message.readUInt8(20);
  const sender = message.subarray(21, 21 + idBytes);
  const record = message.subarray(21 + idBytes);
  // RFC 8291 section 4: one record alone, whose key id is the sender's public key.
  if (idBytes !== 65 || record.length > recordBytes) throw new Error("not one record of RFC 8291");
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), ecdh.getPublicKey(), sender]);
  const input = Buffer.from(hkdfSync("sha256", ecdh.computeSecret(sender), auth, info, 32));
  const derive = (name: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync("sha256", input, salt, `Content-Encoding: ${name}\0`, bytes));
  const decipher = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  // RFC 8188 section 2: the last record ends with 2 and zeros.
  if (padded[end] !== 2) throw new Error("the padding of the last record is malformed");
  return padded.subarray(0, end);
}
