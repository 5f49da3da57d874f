import type { AuthInfo, ServerContext } from "@modelcontextprotocol/server";
import { ProtocolError } from "@modelcontextprotocol/server";
import { isRecord } from "@switchyard/contracts/json-record";
import type { Requester } from "../identity/requester.ts";

/** The facts about a request's sender that the SDK passes to the handlers. The credential is left out, since no handler passes it on. */
export function authInfoOf(requester: Requester, server: string | null): AuthInfo {
  return { token: "", clientId: requester.caller, scopes: [], extra: { requester, server } };
}

/** Returns the sender of the request. Each request of a session has its own, so that a revoked role takes effect at once. */
export function requesterOfRequest(context: ServerContext): Requester {
  const authInfo = context.http?.authInfo;
  const requester = authInfo === undefined ? null : requesterIn(authInfo);
  if (requester === null) throw new ProtocolError(-32_600, "the request has no sender");
  return requester;
}

/** The sender that `authInfoOf` put there; null without one. */
export function requesterIn({ extra }: AuthInfo): Requester | null {
  return (extra?.["requester"] as Requester | undefined) ?? null; // `authInfoOf` alone sets it.
}

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export interface ClientAbilities {
  /** The client can show a form to its person. */
  readonly forms: boolean;
  readonly tasks: boolean;
}

/** Reads the client's capabilities, which each request states since 2026-07-28, and the start of the session before it. */
export function abilitiesIn(capabilities: unknown): ClientAbilities {
  const said = isRecord(capabilities) ? capabilities : {};
  const { elicitation, extensions } = said;
  // Before modes were introduced, an empty object meant forms.
  const forms =
    isRecord(elicitation) && ("form" in elicitation || Object.keys(elicitation).length === 0);
  return { forms, tasks: isRecord(extensions) && TASKS_EXTENSION in extensions };
}
