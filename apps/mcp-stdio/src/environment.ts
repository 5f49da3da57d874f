/** Settings that the starter passes in the environment [F5]. Names begin with SWITCHYARD_ or, as in older bridges, REMOTECLAW_. */
export interface ServerEnvironment {
  /** Null: the installation of the command line. */
  readonly gatewayUrl: string | null;
  readonly gatewayToken: string | null;
  /** Null: a person's own program, which has all of that person's tools. */
  readonly sessionKey: string | null;
  /** Null: no program reads the record of side effects. */
  readonly sideEffectsFile: string | null;
  /** The channel of the conversation. */
  readonly channel: string | null;
  readonly accountId: string | null;
  readonly to: string | null;
  readonly threadId: string | null;
  /** The message that is answered. */
  readonly messageId: string | null;
  /** Claims that the record of the session has to confirm; null: no session is named. */
  readonly claims: SessionClaims | null;
  readonly senderIsOwner: boolean;
  /** True: the starter states that the agent runs in a sandbox. */
  readonly sandboxed: true | null;
  readonly profile: Profile;
}

export const PROFILES = ["minimal", "coding", "messaging", "full"] as const;
export type Profile = (typeof PROFILES)[number];

/** The claims of a bridge about the session that it works for [F39]. */
export interface SessionClaims {
  readonly session: string;
  readonly agent?: string;
  readonly channel?: string;
  readonly group?: string;
  readonly depth?: number;
}

/** The environment cannot be used; the message is for the person who set it. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}

const PREFIXES = ["SWITCHYARD_", "REMOTECLAW_"] as const;
/** A bridge sets all of them; a person who starts the server by hand sets none. */
const BRIDGE = ["GATEWAY_URL", "GATEWAY_TOKEN", "SESSION_KEY", "SIDE_EFFECTS_FILE"] as const;

/** Throws an EnvironmentError. An empty variable counts as unset. */
export function readEnvironment(env: NodeJS.ProcessEnv): ServerEnvironment {
  const read = (name: string): string | null =>
    PREFIXES.map((prefix) => env[prefix + name] ?? "").find((value) => value !== "") ?? null;
  const isBridged = BRIDGE.some((name) => read(name) !== null);
  const missing = BRIDGE.find((name) => read(name) === null);
  if (isBridged && missing !== undefined)
    throw new EnvironmentError(`Missing required environment variable: SWITCHYARD_${missing}`);
  const gatewayUrl = read("GATEWAY_URL");
  if (gatewayUrl !== null && !/^(?:nats|tls|https?):\/\//.test(gatewayUrl))
    throw new EnvironmentError(
      `SWITCHYARD_GATEWAY_URL is ${gatewayUrl}; it has to begin with nats://, tls://, http:// or https://`,
    );
  const named = read("TOOL_PROFILE") ?? "full";
  const profile = PROFILES.find((one) => one === named);
  if (profile === undefined)
    throw new EnvironmentError(
      `SWITCHYARD_TOOL_PROFILE is ${named}; it can be ${PROFILES.join(", ")}`,
    );
  return {
    gatewayUrl,
    gatewayToken: read("GATEWAY_TOKEN"),
    sessionKey: read("SESSION_KEY"),
    sideEffectsFile: read("SIDE_EFFECTS_FILE"),
    channel: read("CHANNEL"),
    accountId: read("ACCOUNT_ID"),
    to: read("TO"),
    threadId: read("THREAD_ID"),
    messageId: read("MESSAGE_ID"),
    claims: claimsIn(read),
    senderIsOwner: read("SENDER_IS_OWNER") === "true",
    // The opposite value is not sent: only settings that narrow are passed on.
    sandboxed: read("SANDBOXED") === "true" ? true : null,
    profile,
  };
}

/** Reads the claims; null without a session. A channel alone is only the location of the caller for tools: no record is about it. */
function claimsIn(read: (name: string) => string | null): SessionClaims | null {
  const [agent, group, depth] = [read("AGENT_ID"), read("GROUP_ID"), read("DEPTH")];
  const [session, channel] = [read("SESSION_KEY"), read("CHANNEL")];
  if (session === null && agent === null && group === null && depth === null) return null;
  if (session === null)
    throw new EnvironmentError(
      "SWITCHYARD_AGENT_ID, SWITCHYARD_GROUP_ID and SWITCHYARD_DEPTH are claims about a session: set SWITCHYARD_SESSION_KEY, too",
    );
  if (depth !== null && !/^\d{1,2}$/.test(depth))
    throw new EnvironmentError(
      `SWITCHYARD_DEPTH is ${depth}; it has to be the number of runs above the session's, from 0`,
    );
  return {
    session,
    ...(agent !== null && { agent }),
    ...(channel !== null && { channel }),
    ...(group !== null && { group }),
    ...(depth !== null && { depth: Number(depth) }),
  };
}
