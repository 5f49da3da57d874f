import { hash } from "node:crypto";
import {
  isTokenCurrent,
  RUN_TOKEN_MAX_LENGTH,
  RunTokenClaims,
  type RunTokenClaims as Claims,
} from "@switchyard/contracts/run-token";
import {
  calculateJwkThumbprint,
  CompactSign,
  compactVerify,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
} from "jose";
import { z } from "zod";

/** Why a run token is refused: it is no token, not ours, too old, says something it may not, not whose it was given to, or too long to travel. */
export type RunTokenFault =
  | "malformed"
  | "signature"
  | "expired"
  | "claims"
  | "revoked"
  | "holder"
  | "too_large";

/** Why a token is refused or could not be made. The message never holds the token. */
export class RunTokenError extends Error {
  override readonly name = "RunTokenError";
  readonly reason: RunTokenFault;

  constructor(reason: RunTokenFault, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** RFC 8725 §3.11: an explicit type keeps tokens of another kind, signed by the same key, out. */
const TYPE = "yard-run+jwt";
const ALGORITHM = "EdDSA";

/** A new Ed25519 key pair as JSON Web Keys (RFC 8037). The private one belongs to the policy service alone. */
export async function createRunTokenKey(): Promise<{ privateJwk: string; publicJwk: string }> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, {
    crv: "Ed25519",
    extractable: true,
  });
  return {
    privateJwk: JSON.stringify(await exportJWK(privateKey)),
    publicJwk: JSON.stringify(await exportJWK(publicKey)),
  };
}

/** Tokens that are known to be good but for their times, by their SHA-256. */
export class KnownRunTokens {
  readonly #size: number;
  /** In the order of last use. */
  readonly #known = new Map<string, Claims>();

  /** `size` is how many are kept, 10,000 when nobody says; the one whose last use is longest ago goes first. */
  constructor(size = 10_000) {
    this.#size = size;
  }

  /** Takes out what is known of a token; whoever uses it puts it back. */
  take(digest: string): Claims | undefined {
    const claims = this.#known.get(digest);
    this.#known.delete(digest);
    return claims;
  }

  put(digest: string, claims: Claims): void {
    this.#known.set(digest, claims);
    if (this.#known.size <= this.#size) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/**
 * Makes the function that signs claims into a compact JWS. It rejects with a RunTokenError
 * (`claims`) when the claims break their schema or make a token longer than 8,192 characters. A verifier with the
 * same `known` need not check the signature of what was signed here.
 */
export async function createRunTokenSigner(
  privateJwk: string,
  { known }: { known?: KnownRunTokens } = {},
): Promise<(claims: Claims) => Promise<string>> {
  const { key, kid } = await importKey(PrivateJwk, privateJwk);
  return async (claims) => {
    const payload = JSON.stringify(parseClaims(claims));
    const token = await new CompactSign(new TextEncoder().encode(payload))
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .sign(key);
    if (token.length > RUN_TOKEN_MAX_LENGTH)
      throw new RunTokenError(
        "too_large",
        `the run token has ${token.length} characters and ${RUN_TOKEN_MAX_LENGTH} are allowed: use fewer or shorter tool patterns`,
      );
    // What its bytes say, as any other verifier reads them.
    known?.put(digestOf(token), freeze(parseClaims(parseJson(payload))));
    return token;
  };
}

/**
 * Makes the function that checks a token and returns its claims; they are frozen. It rejects with a
 * RunTokenError. A good token is remembered in `known`, so the signature is checked once; its
 * times are checked at every use. `now` is in milliseconds. Several keys are those of a rotation: a token
 * is checked with the key that its `kid` names, and one without a `kid` with each of them.
 */
export async function createRunTokenVerifier(
  publicJwks: string | readonly string[],
  options: { now?: () => number; known?: KnownRunTokens } = {},
): Promise<(token: string) => Promise<Claims>> {
  const { now = Date.now, known = new KnownRunTokens() } = options;
  const texts = typeof publicJwks === "string" ? [publicJwks] : publicJwks;
  const keys = await Promise.all(texts.map((jwk) => importKey(PublicJwk, jwk)));

  return async (token) => {
    if (token.length > RUN_TOKEN_MAX_LENGTH)
      throw malformed(`it has more than ${RUN_TOKEN_MAX_LENGTH} characters`);
    const digest = digestOf(token);
    const claims = known.take(digest) ?? (await verifyWithAny(token, keys));
    checkTimes(claims, now());
    known.put(digest, claims);
    return claims;
  };
}

/** The `kid` of a key: its RFC 7638 thumbprint, the same for the private and the public half. */
export async function runTokenKeyId(jwk: string): Promise<string> {
  const { kty, crv, x } = z.object(PublicJwk.shape).parse(parseJson(jwk));
  return calculateJwkThumbprint({ kty, crv, x });
}

/** The `kid` that a token names, without any proof; null when there is none. */
export function keyIdOf(token: string): string | null {
  const [header = ""] = token.split(".", 1);
  const parsed = KeyHeader.safeParse(parseJson(Buffer.from(header, "base64url").toString()));
  return parsed.success ? parsed.data.kid : null;
}

const KeyHeader = z.object({ kid: z.string() });

type Key = Awaited<ReturnType<typeof importKey>>;

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const PublicJwk = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: Coordinate,
});
const PrivateJwk = PublicJwk.extend({ d: Coordinate });

async function importKey(schema: typeof PublicJwk | typeof PrivateJwk, jwk: string) {
  const parsed = schema.safeParse(parseJson(jwk));
  if (!parsed.success) {
    const kind = schema === PrivateJwk ? "private" : "public";
    // No cause: it could quote the key.
    throw new TypeError(`the run token key is not the JSON Web Key of an Ed25519 ${kind} key`);
  }
  return { key: await importJWK(parsed.data, ALGORITHM), kid: await runTokenKeyId(jwk) };
}

async function verifyWithAny(token: string, keys: readonly Key[]): Promise<Claims> {
  const kid = keyIdOf(token);
  const named = kid === null ? keys : keys.filter((key) => key.kid === kid);
  // Without the named key any other says in the same words what is wrong with the token.
  const candidates = named.length > 0 ? named : keys.slice(0, 1);
  let refusal: unknown = malformed("there is no key");
  for (const key of candidates) {
    try {
      return await verify(token, key);
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

async function verify(token: string, key: Key): Promise<Claims> {
  if (!isCanonical(token)) throw malformed("it is not three base64url parts");
  let payload: Uint8Array;
  let type: string | undefined;
  try {
    const verified = await compactVerify(token, key.key, { algorithms: [ALGORITHM] });
    payload = verified.payload;
    type = verified.protectedHeader.typ;
  } catch (error) {
    throw faultOf(error);
  }
  if (type !== TYPE) throw new RunTokenError("claims", `the token's typ is not ${TYPE}`);
  return freeze(parseClaims(parseJson(new TextDecoder().decode(payload))));
}

function digestOf(token: string): string {
  return hash("sha256", token, "base64");
}

/** base64url of some lengths has spare bits: without this check one token would have many spellings. */
function isCanonical(token: string): boolean {
  const parts = token.split(".");
  return (
    parts.length === 3 &&
    parts.every((part) => Buffer.from(part, "base64url").toString("base64url") === part)
  );
}

function faultOf(error: unknown): RunTokenError {
  const isRefused =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed;
  if (!isRefused) return malformed("its header cannot be read", error);
  return new RunTokenError("signature", "the run token was not signed by the policy service", {
    cause: error,
  });
}

function malformed(why: string, cause?: unknown): RunTokenError {
  return new RunTokenError("malformed", `this is not a run token: ${why}`, { cause });
}

function parseClaims(value: unknown): Claims {
  const parsed = RunTokenClaims.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => issue.path.join(".") || "claims").join(", ");
  throw new RunTokenError("claims", `the run token's claims break their schema: ${wrong}`, {
    cause: parsed.error,
  });
}

function checkTimes(claims: Claims, nowMs: number): void {
  if (isTokenCurrent(claims, nowMs)) return;
  if (nowMs / 1000 >= claims.exp) {
    throw new RunTokenError("expired", "the run token has expired: the run must get a new one");
  }
  throw new RunTokenError("claims", "the run token is dated in the future: compare the clocks");
}

/** The claims are shared by every use of a token. */
function freeze(claims: Claims): Claims {
  for (const layer of claims.tools) Object.freeze(layer);
  Object.freeze(claims.tools);
  return Object.freeze(claims);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // every schema refuses it
  }
}
