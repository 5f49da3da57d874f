import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
  type Client,
  type PriorDiscovery,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import type { TransportKind } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { EraVerdict } from "./verdict-store.ts";

/** One way to connect to a server. */
export interface Approach {
  readonly transport: TransportKind;
  readonly mode: VersionNegotiationMode;
  /** Cached discovery, which saves the probe; null when there is none. */
  readonly prior: PriorDiscovery | null;
}

/** The failure of an approach, as far as it matters for the next one. */
export interface ConnectFailure {
  readonly error: unknown;
  /** True when the server had answered the handshake: then the handshake is not the fault. */
  readonly isShaken: boolean;
}

export const MODERN_VERSION = "2026-07-28";

/** True when the connection speaks that version or a later one. */
export function isModern(client: Pick<Client, "getProtocolEra">): boolean {
  return client.getProtocolEra() === "modern";
}

/** With these an old server refuses a POST of `initialize`; the specification then requires SSE. */
const WRONG_TRANSPORT = new Set([400, 404, 405]);
/** With these a server refuses `initialize` itself: wrong version, no such method, bad request. */
const WRONG_HANDSHAKE = new Set([-32_022, -32_601, -32_602, -32_600]);

/** Selects the first approach: the version of the server's entry, else the cached verdict, else what fits most servers. */
export function firstApproach(
  transport: TransportKind,
  verdict: EraVerdict | null,
  version: ServerConfig["protocolVersion"] = null,
): Approach {
  if (version !== null) {
    const mode = version === MODERN_VERSION ? { pin: version } : "legacy";
    return { transport, mode, prior: null };
  }
  if (verdict === null) return freshApproach(transport);
  if (verdict.era === "legacy")
    return { transport: verdict.transport, mode: "legacy", prior: { kind: "legacy" } };
  return { transport, mode: "auto", prior: { kind: "modern", discover: verdict.discover } };
}

/** Selects the approach after a failure; null when no other one can help. */
export function nextApproach(
  transport: TransportKind,
  failed: Approach,
  failure: ConnectFailure,
  version: ServerConfig["protocolVersion"] = null,
): Approach | null {
  const { error, isShaken } = failure;
  // Another version was not requested; another transport may still be the right one.
  if (version === MODERN_VERSION || (version !== null && transport === "stdio")) return null;
  // A server that cannot be reached, or refuses access, has revealed nothing about the protocol.
  if (failed.prior !== null)
    return isAnswer(error) || (failed.prior.kind === "modern" && isServerError(error))
      ? freshApproach(transport)
      : null;
  if (isShaken || failed.transport !== transport) return null;
  if (failed.mode === "auto" && isProbeFailure(error))
    return { transport, mode: "legacy", prior: null };
  if (transport === "http" && error instanceof SdkHttpError && WRONG_TRANSPORT.has(error.status))
    return { transport: "sse", mode: "legacy", prior: null };
  const isRefused = error instanceof ProtocolError && WRONG_HANDSHAKE.has(error.code);
  return transport === "stdio" && failed.mode === "legacy" && isRefused
    ? { transport, mode: { pin: MODERN_VERSION }, prior: null }
    : null;
}

/**
 * A probe for the newest protocol costs HTTP one request. Over stdio it would meet servers that end
 * at any message before `initialize`, and nearly every stdio server supports that handshake.
 */
function freshApproach(transport: TransportKind): Approach {
  return { transport, mode: transport === "http" ? "auto" : "legacy", prior: null };
}

/**
 * True when a server failed at the probe for 2026-07-28 in a way that is no evidence about `initialize`: older servers answer an
 * unknown method with 500, with a closed connection or not at all.
 */
function isProbeFailure(error: unknown): boolean {
  if (!(error instanceof SdkError)) return false;
  if (error.code === SdkErrorCode.RequestTimeout || isServerError(error)) return true;
  return error.code === SdkErrorCode.EraNegotiationFailed && isBrokenConnection(error.cause);
}

function isServerError(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status >= 500;
}

function isBrokenConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Error && "code" in cause && BROKEN.has(String(cause.code));
}

/** The connection was open and ended before an answer. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

function isAnswer(error: unknown): boolean {
  if (error instanceof UnauthorizedError) return false;
  const status =
    error instanceof SdkHttpError ? error.status : error instanceof SseError ? error.code : null;
  if (status !== null)
    return status !== undefined && status < 500 && ![401, 403, 429].includes(status);
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : null;
  // A network error, a refused address, a program that does not start, a login that is needed.
  return !(error instanceof TypeError || code === "EGRESS_REFUSED") && !isOurs.has(error.name);
}

const isOurs = new Set(["SpawnError", "LoginNeededError", "AddressError"]);
