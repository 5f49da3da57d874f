import {
  completeArgument,
  getPrompt,
  listPrompts,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { findBus, withBus } from "../bus-session.ts";
import { printable, printableLine } from "../printable.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { askMcpServer } from "./ask-mcp-server.ts";

interface Options {
  readonly json?: true;
}

const WIDTH = 70;

export async function list(terminal: Terminal, server: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, listPrompts, { server, request: {} }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.prompts.length === 0)
    return terminal.note("the policy lets you get no prompt of this server");
  const lines = tableLines(
    [
      { title: "PROMPT", value: (prompt) => printableLine(prompt.name) },
      { title: "ARGUMENTS", value: (prompt) => argumentNames(prompt["arguments"]) },
      {
        title: "DESCRIPTION",
        value: ({ description }) =>
          typeof description === "string" ? printableLine(description) : "",
        maxWidth: WIDTH,
      },
    ],
    reply.prompts,
  );
  for (const line of lines) terminal.out(line);
  if (reply.more) terminal.note("the server has more prompts than are listed");
}

export async function get(
  terminal: Terminal,
  server: string,
  { name, arg = {}, ...options }: { name: string; arg?: Record<string, string> } & Options,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, getPrompt, { server, request: { name, args: arg } }),
  );
  if (options.json) return writeJson(terminal, reply);
  for (const { role, content } of reply.messages) {
    const text = typeof content["text"] === "string" ? content["text"] : `[${content.type}]`;
    terminal.out(`${terminal.paintOut("bold", `${role}:`)} ${printable(text)}`);
  }
  terminal.note(terminal.paintNote("dim", reply.decision.reason));
}

/** Values that the server suggests for an argument. */
export async function complete(
  terminal: Terminal,
  server: string,
  options: {
    name: string;
    argument: string;
    value: string;
    arg?: Record<string, string>;
  } & Options,
): Promise<void> {
  const { name, argument, value, arg = {} } = options;
  const ref = { type: "prompt", name } as const;
  const request = { ref, argument: { name: argument, value }, args: arg };
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, completeArgument, { server, request }),
  );
  if (options.json) return writeJson(terminal, reply);
  for (const suggestion of reply.values) terminal.out(printableLine(suggestion));
  if (reply.more) terminal.note("the server has more suggestions");
}

/** Names, the required ones with a star. */
function argumentNames(given: unknown): string {
  if (!Array.isArray(given)) return "–";
  const names = given.map((each: unknown) => {
    if (typeof each !== "object" || each === null || !("name" in each)) return "?";
    const isRequired = "required" in each && each.required === true;
    return `${printableLine(String(each.name))}${isRequired ? "*" : ""}`;
  });
  return names.length === 0 ? "–" : names.join(" ");
}
