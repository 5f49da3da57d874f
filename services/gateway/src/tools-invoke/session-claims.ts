/** Headers of OpenClaw's clients, with the parameters of platform tools that they set. Each is also read with `x-switchyard-`. */
const HEADERS = {
  "message-channel": "originChannel",
  "account-id": "originAccountId",
  "message-to": "originTo",
  "thread-id": "originThreadId",
} as const;
const PREFIXES = ["x-openclaw-", "x-switchyard-"] as const;

/**
 * Returns what a caller claims about the session and the chat that it works in. The claims can only narrow: a caller without any reaches all
 * sessions and chats of its user.
 */
export function claimsOf(
  header: (name: string) => string | undefined,
  sessionKey: string | undefined,
): Record<string, string> {
  const chat = Object.entries(HEADERS).flatMap(([name, parameter]) => {
    const value = PREFIXES.map((prefix) => header(prefix + name)).find((one) => one !== undefined);
    return value === undefined ? [] : [[parameter, value] as const];
  });
  return {
    ...Object.fromEntries(chat),
    ...(sessionKey !== undefined && { callerSession: sessionKey }),
  };
}

/** Returns the arguments with the claims that the tool has parameters for; they replace what the arguments state. */
export function withClaims(
  args: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, string>>,
  parameters: ReadonlySet<string>,
): Record<string, unknown> {
  const known = Object.entries(claims).filter(([name]) => parameters.has(name));
  return { ...args, ...Object.fromEntries(known) };
}

/** Headers with claims that the record of the session has to confirm, by the fields of `sessions.claim`. */
const CHECKED = { "agent-id": "agent", "group-id": "group", depth: "depth" } as const;

/**
 * Returns the claims for `sessions.claim`; null when none is made. A channel without a session claims no rights, since no record is about it; it
 * narrows as above.
 */
export function checkedClaims(
  header: (name: string) => string | undefined,
  sessionKey: string | undefined,
): Readonly<Record<string, unknown>> | null {
  const read = (name: string): string | undefined =>
    PREFIXES.map((prefix) => header(prefix + name)).find((one) => one !== undefined);
  const claims = Object.entries(CHECKED).flatMap(([name, field]) => {
    const value = read(name);
    if (value === undefined) return [];
    return [[field, field === "depth" ? Number(value) : value] as const];
  });
  if (claims.length === 0 && sessionKey === undefined) return null;
  const channel = read("message-channel");
  return {
    ...Object.fromEntries(claims),
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { session: sessionKey }),
  };
}
