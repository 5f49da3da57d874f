import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { cutText } from "@switchyard/contracts/cut-text";
import { redactFields, redactText } from "@switchyard/service/redact";

type Args = Readonly<Record<string, unknown>>;

/** Arguments in the form of the audit, without their values: names and a digest. */
export interface AuditedArguments {
  readonly argsDigest: string;
  readonly argKeys: string[];
}

/** No secret is a word as short as this. */
const SHORT_WORD = /^[A-Za-z_]\w{0,13}$/;
const MAX_KEYS = 50;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 16 * 1024;

/**
 * `argsDigest` is passed where it is computed already. Throws a RangeError for arguments that are nested too deep for any digest; such a
 * call is not made.
 */
export function auditedArguments(args: Args, argsDigest?: string): AuditedArguments {
  const argKeys = Object.keys(args)
    .slice(0, MAX_KEYS)
    .map((key) => (SHORT_WORD.test(key) ? key : cutText(redactText(key), MAX_KEY_CHARS)));
  return { argsDigest: argsDigest ?? canonicalDigest(args), argKeys };
}

/**
 * Reads arguments when the record is made, so that the decision or the call does not wait for it. Nested ones are read now: arguments that
 * are nested too deep for a digest have to fail before the call is made.
 */
export function readLater<T>(args: Args, read: (args: Args) => T): () => T {
  const isFlat = Object.values(args).every((value) => typeof value !== "object" || value === null);
  if (isFlat) return () => read(args);
  const now = read(args);
  return () => now;
}

/**
 * The values without secrets, for audits that record them. `isArgsChanged` when a value was removed: then the values do not belong to the
 * digest, and a decision about them cannot be repeated.
 */
export function auditedValues(args: Args): {
  args?: Record<string, unknown>;
  isArgsChanged?: true;
} {
  if (JSON.stringify(args).length > MAX_VALUE_CHARS) return { isArgsChanged: true };
  const clean = redactFields(args) as Record<string, unknown>; // an object stays one
  const isSame = canonicalDigest(clean) === canonicalDigest(args);
  return isSame ? { args: { ...clean } } : { args: { ...clean }, isArgsChanged: true };
}

/** A UUID or a ULID: the form of ids that no client chose. */
const MADE_ID = /^(?:[0-9a-f-]{36}|[0-9A-Z]{26})$/;

/** A correlation id, which a client may have chosen, without what looks like a secret. */
export function auditedId(id: string): string {
  return MADE_ID.test(id) ? id : redactText(id);
}
