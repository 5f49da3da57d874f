/** Returns the codes of an error and of its causes, whatever the library's name for the field: `ECONNREFUSED`. */
export function errorCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Object && depth < 5; depth++) {
    const { code, cause, error: inner, original } = at as Record<string, unknown>;
    if (typeof code === "string") codes.push(code);
    at = cause ?? inner ?? original;
  }
  return codes;
}

/** True when no connection was made, so nothing can have arrived. */
export function wasNeverConnected(error: unknown): boolean {
  return errorCodes(error).some((code) => NEVER_CONNECTED.has(code));
}

const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
