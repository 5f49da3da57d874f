import { createECDH, createPrivateKey, hkdfSync, sign } from "node:crypto";

/** The key with which the gateway identifies itself at push services, https://www.rfc-editor.org/rfc/rfc8292. */
export interface VapidKey {
  /** The public key, an uncompressed point of P-256 in base64url. */
  readonly publicKey: string;
  /** Returns the header `Authorization` of one message to the endpoint. */
  readonly authorization: (endpoint: URL, nowMs: number) => string;
}

/** The order of P-256, https://csrc.nist.gov/pubs/sp/800/186/final, section 3.2.1.3. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** RFC 8292 section 2 allows 24 hours; half of it leaves room for clocks that differ. */
const LIFETIME_SECONDS = 12 * 3_600;

/**
 * Derives the key from one of the gateway's secret keys, so that all replicas have the same one and none is stored. HKDF
 * with a label of its own separates it from the other uses of that secret. 48 bytes, 16 more than the order has, make the scalar
 * uniform (FIPS 186-5, A.2.1). `contact` is the `sub` of the tokens: an https or mailto address.
 */
export function deriveVapidKey(secret: Uint8Array, contact: string): VapidKey {
  const wide = Buffer.from(hkdfSync("sha256", secret, "", "switchyard web push vapid 1", 48));
  const scalar = (BigInt(`0x${wide.toString("hex")}`) % (ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex");
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(d);
  const point = ecdh.getPublicKey();
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: d.toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const publicKey = point.toString("base64url");
  return {
    publicKey,
    authorization({ origin }, nowMs) {
      const exp = Math.floor(nowMs / 1_000) + LIFETIME_SECONDS;
      const claims = [
        { typ: "JWT", alg: "ES256" },
        { aud: origin, exp, sub: contact },
      ];
      const signed = claims.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
      const signature = sign("sha256", Buffer.from(signed.join(".")), {
        key,
        dsaEncoding: "ieee-p1363",
      });
      return `vapid t=${[...signed, signature.toString("base64url")].join(".")}, k=${publicKey}`;
    },
  };
}
