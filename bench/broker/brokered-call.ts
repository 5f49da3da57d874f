import { call } from "@switchyard/bus/call";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Bench } from "../lib/bench.ts";
import { startSwitchyard } from "../lib/switchyard.ts";

/** Arguments of the echo tool on every side of a comparison. */
export const echoArgs = { message: "hello" };

/** Starts Switchyard with everything on, and returns one call of its echo tool. */
export async function brokeredCall(
  { stage }: Bench,
  env: Record<string, string> = {},
): Promise<() => Promise<unknown>> {
  const { bus } = await startSwitchyard(stage, { runners: 1, env });
  return async () => {
    const result = await call(
      bus,
      callTool,
      { tool: "echo", args: echoArgs },
      { tokens: { server: "echo" } },
    );
    if (result.text !== echoArgs.message) throw new Error(`the echo said ${result.text}`);
  };
}

/** Fails when an MCP result does not contain the message. */
export function checkEcho(result: unknown): void {
  if (!JSON.stringify(result).includes(echoArgs.message)) throw new Error("the echo server failed");
}
