import type { Client, Transport } from "@modelcontextprotocol/client";
import { z } from "zod";
import { isRecord } from "../json/json-record.ts";

/** The protocol layer checks a page as a whole, and one malformed tool would cost all others. */
const AnyPage = z.looseObject({});

/**
 * Asks for the pages of a tool list as the server wrote them. The answer to the request under way
 * is taken from the transport, and the protocol layer gets it without the tools. Call it once, after
 * the client has connected, and read one list at a time.
 */
export function createToolPages(
  client: Client,
  transport: Transport,
): (cursor: string | undefined, timeoutMs: number) => Promise<unknown> {
  const state: { waiting: boolean; tools: unknown } = { waiting: false, tools: undefined };
  const forward = transport.onmessage;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is not an EventTarget
  transport.onmessage = (message, extra) => {
    if (state.waiting && "result" in message && isRecord(message.result)) {
      const { tools } = message.result;
      if (Array.isArray(tools)) {
        state.tools = tools;
        forward?.({ ...message, result: { ...message.result, tools: [] } }, extra);
        return;
      }
    }
    forward?.(message, extra);
  };
  return async (cursor, timeoutMs) => {
    const params = cursor === undefined ? {} : { cursor };
    state.waiting = true;
    state.tools = undefined;
    try {
      const page = await client.request({ method: "tools/list", params }, AnyPage, {
        timeout: timeoutMs,
      });
      return { ...page, tools: state.tools };
    } finally {
      state.waiting = false;
    }
  };
}
