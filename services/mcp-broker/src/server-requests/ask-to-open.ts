import { ProtocolError } from "@modelcontextprotocol/client";
import type { Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import { StoreError } from "@switchyard/service/store-error";
import { isRecord } from "@switchyard/contracts/json-record";
import {
  askedPrincipals,
  newQuestion,
  readRequest,
  withRoom,
  type AskPersonDeps,
} from "./ask-person.ts";

export type AskToOpen = ReturnType<typeof createAskToOpen>;

/** The most addresses of one refused call that become questions; a well-behaved server needs one. */
const MAX_ADDRESSES = 4;

/**
 * Creates a pending question from each address that a server wants opened before it executes a call (MCP error -32042). They
 * outlive the call, which may be sent again afterwards. None are created when the policy does not allow questions to the caller,
 * or when they cannot reach a person now.
 */
export function createAskToOpen(deps: AskPersonDeps) {
  /** The elicitations as the server wrote them: a list, by the protocol. */
  return async (
    server: string,
    elicitations: unknown,
    requester: Requester,
  ): Promise<readonly Question[]> => {
    if (!Array.isArray(elicitations)) return [];
    const wanted = elicitations.slice(0, MAX_ADDRESSES).flatMap(readAddress);
    if (wanted.length === 0) return [];
    const asked = { requesters: [requester], mode: "url" } as const;
    const principals = await askedPrincipals(deps, server, asked);
    if (principals === null) return [];
    const made: Question[] = [];
    for (const { elicitationId, ...asks } of wanted) {
      if (withRoom(deps.questions, server, principals).length === 0) break;
      const question = newQuestion(deps, { server, principals, asks, until: Infinity });
      try {
        await deps.questions.post(question, elicitationId);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        deps.onTrouble(server, error);
        break;
      }
      deps.onRequested(question);
      made.push(question);
    }
    return made;
  };
}

function readAddress(elicitation: unknown) {
  if (!isRecord(elicitation)) return [];
  try {
    return [readRequest({ ...elicitation, mode: "url" })];
  } catch (error) {
    if (error instanceof ProtocolError) return []; // it is not an address; the caller gets the server's own error
    throw error;
  }
}
