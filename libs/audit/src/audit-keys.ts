import { createPrivateKey, createPublicKey, hash, sign, verify, type KeyObject } from "node:crypto";
import { z } from "zod";

/** Signs the texts of `signed-texts.ts` with one key of the policy service. */
export interface TextSigner {
  readonly kid: string;
  /** Ed25519 over the UTF-8 bytes of the text, base64url. */
  sign(text: string): string;
}

/** `good`: one of the keys has signed exactly this text. `unknown_key`: none of the keys has that `kid`. */
export type SignatureFinding = "good" | "bad" | "unknown_key";

export interface SignatureCheck {
  readonly kids: readonly string[];
  check(text: string, by: { readonly kid: string; readonly signature: string }): SignatureFinding;
}

/** Public half of an Ed25519 key (RFC 8037); other members are left out. */
export const PublicJwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
});
export type PublicJwk = z.infer<typeof PublicJwk>;

/** RFC 7638 thumbprint. */
export function auditKeyId({ crv, kty, x }: PublicJwk): string {
  return hash("sha256", JSON.stringify({ crv, kty, x }), "base64url");
}

/** `privateJwk` is the JSON of a private Ed25519 key (RFC 8037). Throws the error of `createPrivateKey` for any other text. */
export function createTextSigner(privateJwk: string): TextSigner {
  const jwk = z.object({ ...PublicJwk.shape, d: z.string() }).parse(JSON.parse(privateJwk));
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  return {
    kid: auditKeyId(jwk),
    sign: (text) => sign(null, Buffer.from(text), key).toString("base64url"),
  };
}

/** Calls of one batch follow one another, and share a signature. */
const KEPT = 1_000;

/** Checking a signature takes 0.1 ms, so the last results are cached. */
export function createSignatureCheck(jwks: readonly PublicJwk[]): SignatureCheck {
  const keys = new Map<string, KeyObject>(
    jwks.map((jwk) => [
      auditKeyId(jwk),
      createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: "jwk" }),
    ]),
  );
  const known = new Map<string, SignatureFinding>();
  return {
    kids: [...keys.keys()],
    check(text, { kid, signature }) {
      const key = keys.get(kid);
      if (key === undefined) return "unknown_key";
      const about = `${kid} ${signature} ${text}`;
      const found = known.get(about);
      if (found !== undefined) return found;
      const isGood = verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
      const finding = isGood ? "good" : "bad";
      if (known.size >= KEPT) known.clear();
      known.set(about, finding);
      return finding;
    },
  };
}

/** The keys in a text: a JWK, a JWK set (RFC 7517), or the `--json` output of `yard audit keys`. Null when it is none of them. */
export function parsePublicKeys(text: string): PublicJwk[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const Set = z.object({ keys: z.array(PublicJwk).min(1) });
  const set = z
    .union([Set, z.object({ data: Set }).transform(({ data }) => data)])
    .safeParse(value);
  if (set.success) return set.data.keys;
  const one = PublicJwk.safeParse(value);
  return one.success ? [one.data] : null;
}
