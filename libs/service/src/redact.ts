import { cutText } from "@switchyard/contracts/cut-text";

/**
 * Two nets against secrets in logs. Fields are caught by the name of their key at any depth, and
 * text by the shape of the secret itself, because a secret also travels inside messages and URLs.
 */
const REDACTED = "[redacted]";

/**
 * A copy of a value that is safe to log: secret keys redacted, errors reduced to what describes
 * them, depth, breadth and length bounded. Never throws and never changes its argument.
 */
export function redactFields(value: unknown): unknown {
  return copyOf(value, { depth: 0, parents: [] });
}

/** Replaces what looks like a credential. The patterns never cross a quote, so JSON text stays JSON. */
export function redactText(text: string): string {
  if (!MAY_HAVE_SECRET.test(text)) return text;
  let clean = text;
  for (const [pattern, replacement] of SECRET_SHAPES) clean = clean.replace(pattern, replacement);
  return clean.replace(USER_INFORMATION, `$1${REDACTED}@`);
}

/** True for the name of a field whose value is a secret, whatever it looks like. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key.toLowerCase().replaceAll(/[-_\s.]/g, ""));
}

const MAX_DEPTH = 8;
const MAX_ENTRIES = 100;
const MAX_STRING = 8_192;

const SECRET_KEY =
  /(?:authorization|cookie|password|passwd|passphrase|secret|apikey|secretkey|accesskey|privatekey|privatejwk|credential|seed)s?$|token$/;

/** Each is linear in the text, also in text made to be slow: repetitions are bounded or cannot start inside themselves. */
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  // A digit or some length, so that the words "basic authentication" stay.
  [/\b(Bearer|Basic)\s+(?=\S{0,256}\d|\S{16})[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`],
  // JWT, JWS. It begins where a word begins, so that the text is scanned once.
  [/(?<![\w-])eyJ[\w-]{4,}\.[\w-]+\.[\w-]*/g, REDACTED],
  [/\bS[UANOC][A-Z2-7]{56}\b/g, REDACTED], // NKey seed
  [/\b(?:sk|pk|rk|sw)[-_][\w-]{12,}/g, REDACTED], // API keys of model providers and our own
  [/\b(?:gsk|hf)_[A-Za-z0-9]{30,}/g, REDACTED], // of other model providers
  [/\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}/g, REDACTED],
  [/\bnpm_[A-Za-z0-9]{30,}/g, REDACTED],
  [/\bxox[a-z](?:\.xox[a-z])?-[\w-]{10,}|\bxapp-\d-[\w-]{10,}/g, REDACTED], // Slack
  [/\b(hooks\.slack\.com\/[a-z]{1,20}\/)[\w/+-]{10,}/g, `$1${REDACTED}`],
  // AWS: the id of a key has a shape, the key itself only a name in front of it.
  [/\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g, REDACTED],
  [/\b(aws_(?:secret_access_key|session_token)\s{0,4}[=:]\s{0,4})[\w/+=-]{16,}/gi, `$1${REDACTED}`],
  // Google: API keys, access tokens, refresh tokens, secrets of OAuth clients.
  [/\bAIza[\w-]{30,}|\bya29\.[\w.-]{20,}|\b1\/\/0[\w-]{20,}|\bGOCSPX-[\w-]{20,}/g, REDACTED],
  // PEM and PGP, also one that was cut. Nothing but long lines of it is taken, so that no text can be
  // hidden from a person who decides about it. A line break may be escaped, as in JSON text.
  [
    /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nrt]){1,4}(?:Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,20},[0-9A-F]{1,64}|Version: [\w .()-]{1,40}))*(?:(?:\s|\\[nrt]){1,4}[A-Za-z0-9+/=]{32,})+(?:(?:\s|\\[nrt]){1,4}-----END [A-Z0-9 ]{0,50}-----)?/g,
    REDACTED,
  ],
];

/** A part that every text with a match contains. One test for it is a tenth of the work of trying all shapes. */
const MAY_HAVE_SECRET =
  /:\/\/|-----BEGIN|eyJ|[Bb][Ee][Aa][Rr][Ee][Rr]\s|[Bb][Aa][Ss][Ii][Cc]\s|[Aa][Ww][Ss]_|(?:sk|pk|rk|sw)[-_]|(?:gsk|hf|gh[pousr]|github_pat|npm)_|glpat-|xox[a-z]|xapp-|hooks\.slack|A(?:KI|SI|BI|CC)A|AIza|ya29\.|1\/\/0|GOCSPX|S[UANOC][A-Z2-7]{56}/;

/** In a URL. A quote or backslash inside it is escaped in JSON text. */
const USER_INFORMATION = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)(?:\\.|[^\s/@"\\]){1,1024}@/gi;

interface Nesting {
  readonly depth: number;
  /** The objects around this one, to find cycles. */
  readonly parents: readonly object[];
}

function copyOf(value: unknown, nesting: Nesting): unknown {
  switch (typeof value) {
    case "string":
      return shorten(value);
    case "bigint":
      return value.toString();
    case "symbol":
    case "function":
      return undefined;
    case "object":
      return value === null ? null : copyOfObject(value, nesting);
    default:
      return value;
  }
}

function copyOfObject(value: object, nesting: Nesting): unknown {
  if (nesting.parents.includes(value)) return "[circular]";
  if (nesting.depth >= MAX_DEPTH) return "[too deep]";
  const inside: Nesting = { depth: nesting.depth + 1, parents: [...nesting.parents, value] };
  if (value instanceof Error) return copyOfError(value, inside);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (value instanceof URL) return redactText(value.href);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return copyOfEntries([...value].map(keyedEntry), inside);
  if (value instanceof Set) return copyOfList([...value], inside);
  if (Array.isArray(value)) return copyOfList(value, inside);
  return copyOfEntries(ownEntries(value), inside);
}

function copyOfList(list: readonly unknown[], inside: Nesting): unknown[] {
  const copy = list.slice(0, MAX_ENTRIES).map((item) => copyOf(item, inside) ?? null);
  if (list.length > MAX_ENTRIES) copy.push(`[${list.length - MAX_ENTRIES} more]`);
  return copy;
}

function copyOfEntries(entries: readonly (readonly [string, unknown])[], inside: Nesting): object {
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>; // no `__proto__` setter
  for (const [key, value] of entries.slice(0, MAX_ENTRIES)) {
    copy[key] = isSecret(key, value) ? REDACTED : copyOf(value, inside);
  }
  if (entries.length > MAX_ENTRIES) copy["[more]"] = entries.length - MAX_ENTRIES;
  return copy;
}

/**
 * Libraries attach things to errors: requests, command arguments, payloads. Only what describes the error is copied, and of the rest only
 * plain values such as `code` and `port`.
 */
function copyOfError(error: Error, inside: Nesting): object {
  const plain = ownEntries(error).filter(([, value]) => isPlain(value));
  const copy: Record<string, unknown> = {
    ...copyOfEntries(plain, inside),
    type: error.name,
    message: shorten(error.message),
    stack: error.stack === undefined ? undefined : shorten(error.stack),
  };
  if (error.cause !== undefined) copy["cause"] = copyOf(error.cause, inside);
  if (error instanceof AggregateError) copy["errors"] = copyOfList(error.errors, inside);
  return copy;
}

function ownEntries(value: object): [string, unknown][] {
  return Object.keys(value).map((key) => [key, readProperty(value, key)]);
}

function readProperty(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return "[unreadable]"; // a getter that throws must not cost the log line
  }
}

function keyedEntry([key, value]: [unknown, unknown]): [string, unknown] {
  return [typeof key === "string" ? key : `[${typeof key}]`, value];
}

function isSecret(key: string, value: unknown): boolean {
  if (value === undefined || value === null || typeof value === "boolean") return false;
  return isSecretKey(key);
}

function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function shorten(text: string): string {
  // Redacted before the cut, so that no half of a secret stays at the end.
  const clean = redactText(cutText(text, 4 * MAX_STRING));
  if (clean.length <= MAX_STRING) return clean;
  return `${cutText(clean, MAX_STRING)} [${text.length} characters in all]`;
}
