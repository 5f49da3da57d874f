import { isRecord } from "@switchyard/contracts/json-record";
import type { Span } from "./span.ts";

/** The exact shape of a kind of credential. */
export interface SecretShape {
  /** Its first group, if it has one, is shown; the rest is the secret. Linear in the text: each repetition is bounded. */
  readonly shape: RegExp;
  readonly isSecret: (secret: string, head: string) => boolean;
}

/** True for a text unlike a readable name: a long part of it has letters of both cases and digits, or is hexadecimal. */
function isRandom(secret: string): boolean {
  return secret
    .split(/[-_.]/)
    .some(
      (part) =>
        part.length >= 12 &&
        /\d/.test(part) &&
        ((/[a-z]/.test(part) && /[A-Z]/.test(part)) || /^[\da-f]{32,}$/.test(part)),
    );
}

export const SECRET_SHAPES: readonly SecretShape[] = [
  // NKey seeds, ids of AWS keys.
  { shape: /(?<![\w-])S[UANOC][A-Z2-7]{56}(?![\w-])/g, isSecret: () => true },
  { shape: /(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z\d]{16}(?![\w-])/g, isSecret: () => true },
  // Model providers: sk-…, sk-ant-api03-…, sk-proj-…; payment: sk_live_…; Groq, Hugging Face.
  {
    shape: /(?<![\w-])(?:sk|pk|rk)[-_](?:[a-z\d]{2,10}[-_]){0,2}[\w-]{24,200}(?![\w-])/g,
    isSecret: isRandom,
  },
  { shape: /(?<![\w-])(?:gsk|hf)_[A-Za-z\d]{30,64}(?![\w-])/g, isSecret: isRandom },
  // Forges and registries.
  { shape: /(?<![\w-])gh[pousr]_[A-Za-z\d]{36,80}(?![\w-])/g, isSecret: isRandom },
  { shape: /(?<![\w-])github_pat_[A-Za-z\d]{22}_[A-Za-z\d]{58,60}(?![\w-])/g, isSecret: isRandom },
  { shape: /(?<![\w-])glpat-[\w-]{20,64}(?![\w-])/g, isSecret: isRandom },
  { shape: /(?<![\w-])npm_[A-Za-z\d]{36}(?![\w-])/g, isSecret: isRandom },
  // Slack.
  { shape: /(?<![\w-])xox[a-z](?:\.xox[a-z])?-[\w-]{24,200}(?![\w-])/g, isSecret: isRandom },
  { shape: /(?<![\w-])xapp-\d-[\w-]{24,200}(?![\w-])/g, isSecret: isRandom },
  {
    shape:
      /(?<![\w.-])(hooks\.slack\.com\/services\/T[A-Z\d]{1,12}\/B[A-Z\d]{1,12}\/)[A-Za-z\d]{24}(?![\w/+-])/g,
    isSecret: isRandom,
  },
  // Google.
  {
    shape: /(?<![\w-])(?:AIza[\w-]{30,40}|GOCSPX-[\w-]{28})(?![\w-])/g,
    isSecret: isRandom,
  },
  { shape: /(?<![\w-])ya29\.[\w-]{30,300}(?![\w.-])/g, isSecret: isRandom },
  { shape: /(?<![\w/-])1\/\/0[\w-]{30,200}(?![\w/-])/g, isSecret: isRandom },
  // The signature of a JWT: no service accepts the rest without it, and the rest shows what the token grants.
  {
    shape: /(?<![\w.-])(eyJ[\w-]{8,1000}\.eyJ[\w-]{2,6000}\.)[\w-]{43,1400}(?![\w.-])/g,
    isSecret: (_signature, head) => isJwt(head),
  },
  // The body of a private key. A line break may be written as an escape.
  {
    shape:
      /(-----BEGIN (?:[A-Z\d]{1,12} ){0,3}PRIVATE KEY-----(?:\s|\\[nrt]){1,4})(?:[A-Za-z\d+/]{32,80}={0,2}(?:\s|\\[nrt]){1,4}){1,200}(?:[A-Za-z\d+/]{1,31}={0,2}(?:\s|\\[nrt]){1,4})?(?=-----END [A-Z\d ]{0,40}PRIVATE KEY-----)/g,
    isSecret: isPrivateKey,
  },
];

function isJwt(head: string): boolean {
  const [header, claims] = head.split(".").map(jsonOf);
  return isRecord(header) && typeof header["alg"] === "string" && isRecord(claims);
}

function jsonOf(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

/** True for DER whose declared length is its actual length, and for the format of OpenSSH. */
function isPrivateKey(body: string): boolean {
  const key = Buffer.from(body.replaceAll(/\s|\\[nrt]/g, ""), "base64");
  if (key.subarray(0, 15).toString("latin1") === "openssh-key-v1\0") return true;
  const [sequence = 0, length = 0] = key;
  if (sequence !== 0x30) return false;
  if (length < 0x80) return key.length === length + 2;
  const bytes = length - 0x80;
  if (bytes < 1 || bytes > 2 || key.length < 2 + bytes) return false;
  return key.length === 2 + bytes + key.readUIntBE(2, bytes);
}

/** Finds texts in the exact shape of a credential. */
export function findSecrets(text: string): Span[] {
  return SECRET_SHAPES.flatMap(({ shape, isSecret }) =>
    [...text.matchAll(shape)].flatMap(({ 0: found, 1: head = "", index }) =>
      isSecret(found.slice(head.length), head)
        ? [{ start: index + head.length, end: index + found.length }]
        : [],
    ),
  );
}
