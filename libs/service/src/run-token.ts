import { createPrivateKey, createPublicKey, hash, sign, type KeyObject } from "node:crypto";
import {
  isTokenCurrent,
  RUN_TOKEN_MAX_LENGTH,
  RunTokenClaims,
  type RunTokenClaims as Claims,
} from "@switchyard/contracts/policy/run-token";
import { calculateJwkThumbprint, compactVerify, errors, exportJWK, generateKeyPair } from "jose";
import { z } from "zod";

/**
 * The reason why a run token is refused: it is not a token, not signed by this installation, too old, has forbidden content, was issued to
 * another user, or is too long to travel.
 */
export type RunTokenFault =
  | "malformed"
  | "signature"
  | "expired"
  | "claims"
  | "revoked"
  | "holder"
  | "too_large";

/** A token is refused or could not be made. The message never holds the token. */
export class RunTokenError extends Error {
  override readonly name = "RunTokenError";
  readonly reason: RunTokenFault;

  constructor(reason: RunTokenFault, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

/** A kind of token that the policy service signs: one kind is never accepted as another one. */
export interface TokenKind<C extends Times> {
  /** Its name in messages, such as `run token`. */
  readonly name: string;
  /** RFC 8725 §3.11: an explicit type keeps tokens of another kind, signed by the same key, out. */
  readonly type: string;
  /** In characters. */
  readonly maxLength: number;
  readonly claims: z.ZodType<C>;
  /** The content that has to be reduced in a token that is too long. */
  readonly shorten: string;
}

/** In seconds since the Unix epoch. */
interface Times {
  readonly iat: number;
  readonly exp: number;
}

const RUN_TOKEN: TokenKind<Claims> = {
  name: "run token",
  type: "yard-run+jwt",
  maxLength: RUN_TOKEN_MAX_LENGTH,
  claims: RunTokenClaims,
  shorten: "use fewer or shorter tool patterns",
};
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

/** Tokens that are verified but for their times, by their SHA-256. */
export class KnownRunTokens<C extends Times = Claims> {
  readonly #size: number;
  /** In the order of last use. */
  readonly #known = new Map<string, C>();

  /** `size` is how many are cached, 10,000 by default; the one whose last use is longest ago is removed first. */
  constructor(size = 10_000) {
    this.#size = size;
  }

  /** Removes and returns the cached claims of a token; the caller puts them back. */
  take(digest: string): C | undefined {
    const claims = this.#known.get(digest);
    this.#known.delete(digest);
    return claims;
  }

  put(digest: string, claims: C): void {
    this.#known.set(digest, claims);
    if (this.#known.size <= this.#size) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/** {@link createTokenSigner} of run tokens. */
export function createRunTokenSigner(privateJwk: string, options: { known?: KnownRunTokens } = {}) {
  return createTokenSigner(RUN_TOKEN, privateJwk, options);
}

/**
 * Makes the function that signs claims into a compact JWS. It rejects with a RunTokenError
 * (`claims`) when the claims break their schema or make a token that is too long. A verifier with the
 * same `known` need not check the signature of what was signed here.
 */
export async function createTokenSigner<C extends Times>(
  kind: TokenKind<C>,
  privateJwk: string,
  { known }: { known?: KnownRunTokens<C> } = {},
): Promise<(claims: C) => Promise<string>> {
  const { key, kid } = await importPrivateKey(privateJwk);
  const { name, maxLength } = kind;
  const header = base64url(JSON.stringify({ alg: ALGORITHM, typ: kind.type, kid }));
  return async (claims) => {
    const payload = JSON.stringify(parseClaims(kind, claims));
    const signed = `${header}.${base64url(payload)}`;
    // In this thread: the way to another one and back takes longer than the signature.
    const signature = sign(null, Buffer.from(signed), key).toString("base64url");
    const token = `${signed}.${signature}`;
    if (token.length > maxLength)
      throw new RunTokenError(
        "too_large",
        `the ${name} has ${token.length} characters and ${maxLength} are allowed: ${kind.shorten}`,
      );
    // The claims of its bytes, as any other verifier reads them.
    known?.put(digestOf(token), freeze(parseClaims(kind, parseJson(payload))));
    return token;
  };
}

/** {@link createTokenVerifier} of run tokens. */
export function createRunTokenVerifier(
  publicJwks: string | readonly string[],
  options: { now?: () => number; known?: KnownRunTokens } = {},
): Promise<(token: string) => Promise<Claims>> {
  const texts = typeof publicJwks === "string" ? [publicJwks] : publicJwks;
  return createTokenVerifier(RUN_TOKEN, texts, options);
}

/**
 * Makes the function that checks a token and returns its claims; they are frozen. It rejects with a RunTokenError. A valid token is cached
 * in `known`, so the signature is checked once; its times are checked at every use, as of `at`, in milliseconds, or now. Several keys are
 * those of a rotation: a token is checked with the key that its `kid` names, and one without a `kid` with each of them.
 */
export async function createTokenVerifier<C extends Times>(
  kind: TokenKind<C>,
  publicJwks: readonly string[],
  options: { now?: () => number; known?: KnownRunTokens<C> } = {},
): Promise<(token: string, at?: number) => Promise<C>> {
  const { now = Date.now, known = new KnownRunTokens<C>() } = options;
  const keys = await Promise.all(publicJwks.map((jwk) => importPublicKey(jwk)));

  return async (token, at = now()) => {
    if (token.length > kind.maxLength)
      throw malformed(kind, `it has more than ${kind.maxLength} characters`);
    const digest = digestOf(token);
    const claims = known.take(digest) ?? (await verifyWithAny(kind, token, keys));
    checkTimes(kind, claims, at);
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

interface Key {
  readonly key: KeyObject;
  readonly kid: string;
}

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const PublicJwk = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: Coordinate,
});
const PrivateJwk = PublicJwk.extend({ d: Coordinate });

async function importPrivateKey(jwk: string): Promise<Key> {
  const { kty, crv, x, d } = parseKey(PrivateJwk, jwk, "private");
  const key = createPrivateKey({ key: { kty, crv, x, d }, format: "jwk" });
  return { key, kid: await runTokenKeyId(jwk) };
}

async function importPublicKey(jwk: string): Promise<Key> {
  const { kty, crv, x } = parseKey(PublicJwk, jwk, "public");
  const key = createPublicKey({ key: { kty, crv, x }, format: "jwk" });
  return { key, kid: await runTokenKeyId(jwk) };
}

function parseKey<S extends z.ZodType>(
  schema: S,
  jwk: string,
  kind: "private" | "public",
): z.output<S> {
  const parsed = schema.safeParse(parseJson(jwk));
  if (parsed.success) return parsed.data;
  // No cause: it could quote the key.
  throw new TypeError(`the run token key is not the JSON Web Key of an Ed25519 ${kind} key`);
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}

async function verifyWithAny<C extends Times>(
  kind: TokenKind<C>,
  token: string,
  keys: readonly Key[],
): Promise<C> {
  const kid = keyIdOf(token);
  const named = kid === null ? keys : keys.filter((key) => key.kid === kid);
  const candidates = named.length > 0 ? named : keys.slice(0, 1);
  let refusal: unknown = malformed(kind, "there is no key");
  for (const key of candidates) {
    try {
      return await verify(kind, token, key);
    } catch (error) {
      refusal = error;
    }
  }
  throw refusal;
}

async function verify<C extends Times>(kind: TokenKind<C>, token: string, key: Key): Promise<C> {
  if (!isCanonical(token)) throw malformed(kind, "it is not three base64url parts");
  let payload: Uint8Array;
  let type: string | undefined;
  try {
    const verified = await compactVerify(token, key.key, { algorithms: [ALGORITHM] });
    payload = verified.payload;
    type = verified.protectedHeader.typ;
  } catch (error) {
    throw faultOf(kind, error);
  }
  if (type !== kind.type) throw new RunTokenError("claims", `the token's typ is not ${kind.type}`);
  return freeze(parseClaims(kind, parseJson(new TextDecoder().decode(payload))));
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

type Named = Pick<TokenKind<Times>, "name">;

function faultOf(kind: Named, error: unknown): RunTokenError {
  const isRefused =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed;
  if (!isRefused) return malformed(kind, "its header cannot be read", error);
  return new RunTokenError("signature", `the ${kind.name} was not signed by the policy service`, {
    cause: error,
  });
}

function malformed({ name }: Named, why: string, cause?: unknown): RunTokenError {
  return new RunTokenError("malformed", `this is not a ${name}: ${why}`, { cause });
}

function parseClaims<C extends Times>({ name, claims }: TokenKind<C>, value: unknown): C {
  const parsed = claims.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => issue.path.join(".") || "claims").join(", ");
  throw new RunTokenError("claims", `the ${name}'s claims break their schema: ${wrong}`, {
    cause: parsed.error,
  });
}

function checkTimes({ name }: Named, claims: Times, atMs: number): void {
  if (isTokenCurrent(claims, atMs)) return;
  if (atMs / 1000 >= claims.exp)
    throw new RunTokenError("expired", `the ${name} has expired: get a new one`);
  throw new RunTokenError("claims", `the ${name} is dated in the future: compare the clocks`);
}

/** The claims are shared by every use of a token. */
function freeze<T extends object>(value: T): T {
  for (const part of Object.values(value))
    if (typeof part === "object" && part !== null) freeze(part as object);
  return Object.freeze(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // every schema refuses it
  }
}
