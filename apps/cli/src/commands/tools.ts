import { client } from "@switchyard/bus/call";
import {
  builtinTimeoutMs,
  callBuiltin,
  cancelBuiltin,
  listBuiltins,
} from "@switchyard/contracts/toolbox/toolbox";
import { findBus, withBus } from "../bus-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { wholeApproval } from "../named-approval.ts";
import { printable, printableLine } from "../printable.ts";
import { formatDuration } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { parseArguments } from "./mcp-call.ts";

const DESCRIPTION_WIDTH = 90;

/** Lists the built-in tools that the policy lets one call. */
export async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listBuiltins }).listBuiltins({}),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.tools.length === 0) return terminal.note("the policy lets you call no built-in tool");
  const columns = [
    { title: "TOOL", value: (tool: (typeof reply.tools)[number]) => tool.name },
    { title: "TIER", value: (tool: (typeof reply.tools)[number]) => tool.tier },
    {
      title: "DESCRIPTION",
      value: (tool: (typeof reply.tools)[number]) => printableLine(tool.description),
      maxWidth: DESCRIPTION_WIDTH,
    },
  ];
  for (const line of tableLines(columns, reply.tools)) terminal.out(line);
}

interface CallOptions {
  readonly args: string;
  readonly json?: true;
  readonly timeout?: number;
  /** Makes the call effectively-once, and one that `yard tools cancel` can name. */
  readonly callId?: string;
  readonly approval?: string;
}

/** Calls one built-in tool under the policy. Exit 1 when the tool reports a failure. */
export async function call(
  terminal: Terminal,
  tool: string,
  { args: text, callId, approval, ...options }: CallOptions,
): Promise<ExitCode> {
  const args = parseArguments(text, tool);
  const request = {
    tool,
    args,
    ...(callId === undefined ? {} : { callId }),
    ...(approval === undefined ? {} : { approvalId: wholeApproval(approval) }),
  };
  const timeoutMs =
    options.timeout === undefined ? builtinTimeoutMs(tool, args) : options.timeout * 1_000;
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { callBuiltin }).callBuiltin(request, { timeoutMs }),
  );
  if (options.json) writeJson(terminal, reply);
  else terminal.out(printable(reply.text));
  const outcome = reply.isError ? "the tool reports an error" : "ok";
  terminal.note(
    terminal.paintNote(
      "dim",
      `${outcome}, ${formatDuration(reply.durationMs)}, ${reply.decision.reason}`,
    ),
  );
  return reply.isError ? EXIT.failed : EXIT.ok;
}

/** Ends a call in work. */
export async function cancel(
  terminal: Terminal,
  callId: string,
  options: { json?: true },
): Promise<ExitCode> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { cancelBuiltin }).cancelBuiltin({ callId }),
  );
  if (options.json) writeJson(terminal, reply);
  else if (reply.cancelled) terminal.out("cancelled");
  else terminal.note(`you have no call ${printableLine(callId)} under way`);
  return reply.cancelled ? EXIT.ok : EXIT.failed;
}
