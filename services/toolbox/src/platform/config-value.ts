import { isSecretKey, redactText } from "@switchyard/service/redact";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const REDACTED = "[redacted]";
/** A whole text that names a variable; one with a default has the default in it. */
const REFERENCE = /^\$\{[A-Za-z_]\w*\}$/;
/** Names in addition to those that logs redact. Values of `env` and `headers` are secret more often than not. */
const MORE_SECRETS = /^(?:pass|pwd|pin|key|auth|env|headers)$/i;

const PARAMETER = /([?&;])([\w.~%-]{1,64})=[^&#;\s"'<>\\]{1,4096}/g;
/** A signed URL grants access to everyone who has it. */
const SIGNATURE = /^(?:sig|signature|hmac|code|x-amz-signature|x-goog-signature)$/i;

/** Returns the value without secrets: values under the name of a secret, or in the form of one, are removed [F31]. */
export function redacted(value: Json): Json {
  return shown(value, { name: "", isSecret: false });
}

function shown(value: Json, place: { readonly name: string; readonly isSecret: boolean }): Json {
  const isSecret = place.isSecret || isSecretName(place.name);
  if (typeof value === "string") {
    if (REFERENCE.test(value)) return value;
    if (isSecret) return REDACTED;
    // The URL of a webhook often serves as its password.
    const url = place.name === "to" ? /^https?:\/\/[^/?#@]*(?=[/?#])/i.exec(value) : null;
    return url === null ? withoutQuerySecrets(redactText(value)) : `${url[0]}/${REDACTED}`;
  }
  if (typeof value === "number") return isSecret ? REDACTED : value;
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item) => shown(item, { ...place, isSecret }));
  return mapped(value, (item, name) => shown(item, { name, isSecret }));
}

/** Addresses often have a secret as a parameter: `https://example.com/feed?token=…`. */
function withoutQuerySecrets(text: string): string {
  return text.replaceAll(PARAMETER, (parameter, before: string, name: string) =>
    isSecretName(name) || SIGNATURE.test(name) ? `${before}${name}=${REDACTED}` : parameter,
  );
}

function isSecretName(name: string): boolean {
  return isSecretKey(name) || MORE_SECRETS.test(name);
}

/** A copy with each value made anew; `__proto__` is a name like any other. */
export function mapped(value: JsonObject, make: (item: Json, name: string) => Json): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, make(item, name)]));
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
