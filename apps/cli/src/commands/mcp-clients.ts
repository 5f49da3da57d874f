import { constants } from "node:fs";
import { copyFile, mkdir, realpath, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { client as clientOf } from "@switchyard/bus/call";
import { cutText } from "@switchyard/contracts/cut-text";
import { serverIdOf } from "@switchyard/contracts/ids";
import { addServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { findBus, withBus } from "../bus-session.ts";
import { CliError, describeFailure } from "../cli-error.ts";
import { httpAccess } from "../dev/http-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { findRunningInstance } from "../instance-record.ts";
import { stateDirectory } from "../locations.ts";
import { CLIENT_FORMATS, TOKEN_VARIABLE, type McpClient } from "../mcp-clients/client-formats.ts";
import { declaredServers, type DeclaredServer } from "../mcp-clients/declared-servers.ts";
import { editedConfig } from "../mcp-clients/edited-config.ts";
import { parsedConfig } from "../mcp-clients/parsed-config.ts";
import { printable, printableLine } from "../printable.ts";
import { readOptional } from "../read-optional.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Options {
  readonly client: McpClient;
  readonly file?: string;
  readonly json?: true;
}

const NAME = "switchyard";

/** `yard mcp export`: writes this installation into the configuration of another MCP client, beside what is there. */
export async function exportTo(
  terminal: Terminal,
  { client, json, ...options }: Options & { url?: string; print?: true },
): Promise<void> {
  const format = CLIENT_FORMATS[client];
  const file = fileOf(client, options.file, terminal.env);
  const url = options.url ?? (await ownUrl(terminal.env));
  const text = (await readOptional(file)) ?? "";
  const edited = editedConfig(text, { format, name: NAME, entry: format.entry(url) });
  if (options.print === true) {
    if (json) writeJson(terminal, { client, file, text: edited });
    else terminal.out(printable(edited.trimEnd()));
    return;
  }
  const isChanged = edited !== text;
  const backup = isChanged ? await replaced(file, edited) : null;
  if (json) return writeJson(terminal, { client, file, url, isChanged, backup });
  terminal.out(
    isChanged
      ? `${file} has the server ${NAME} now`
      : `${file} has the server ${NAME} already; nothing was changed`,
  );
  if (backup !== null) terminal.note(`as it was before: ${backup}`);
  terminal.note(
    client === "vscode"
      ? "VS Code asks for the token when it starts the server; make one with: ./yard keys api create NAME"
      : `start ${format.title} with the token in ${TOKEN_VARIABLE}; make one with: ./yard keys api create NAME`,
  );
}

/** `yard mcp import`: adds the servers that another MCP client has. Exit 1 when one of them could not be added. */
export async function importFrom(
  terminal: Terminal,
  names: readonly string[],
  { client, json, dryRun, ...options }: Options & { dryRun?: true },
): Promise<ExitCode> {
  const format = CLIENT_FORMATS[client];
  const file = fileOf(client, options.file, terminal.env);
  const text = await readOptional(file);
  if (text === null) {
    throw new CliError("file_missing", `${format.title} has no file ${file}`, {
      hint: "name the file with --file",
    });
  }
  const found = declaredServers(client, parsedConfig(text, format)[format.servers]);
  const wanted = names.length === 0 ? found : names.map((name) => named(name, found));
  const results = dryRun === true ? wanted.map(untouched) : await added(wanted, terminal.env);
  if (json) writeJson(terminal, { client, file, servers: results });
  else for (const result of results) terminal.out(resultLine(result, dryRun === true));
  if (!json && results.length === 0) terminal.note(`${file} has no MCP server`);
  return results.some(({ outcome }) => outcome === "failed") ? EXIT.failed : EXIT.ok;
}

interface Result {
  readonly name: string;
  readonly outcome: "added" | "left out" | "failed" | "not added yet";
  readonly reason: string | null;
}

function untouched({ name, reason }: DeclaredServer): Result {
  return { name, outcome: reason === null ? "not added yet" : "left out", reason };
}

async function added(
  servers: readonly DeclaredServer[],
  env: NodeJS.ProcessEnv,
): Promise<Result[]> {
  return withBus(await findBus(env), async (bus) => {
    const api = clientOf(bus, { addServer });
    const results: Result[] = [];
    for (const server of servers) {
      const { name, declaration } = server;
      const id = serverIdOf(name);
      if (declaration === null) results.push(untouched(server));
      else if (id === null)
        results.push({ name, outcome: "failed", reason: "no id can be made of its name" });
      else {
        const whole = { ...declaration, id, ...(id === name ? {} : { name: cutText(name, 200) }) };
        const result = await api.addServer({ server: whole }).then(
          (): Result => ({ name, outcome: "added", reason: id === name ? null : `as ${id}` }),
          (error: unknown): Result => ({
            name,
            outcome: "failed",
            reason: describeFailure(error).message,
          }),
        );
        results.push(result);
      }
    }
    return results;
  });
}

function resultLine({ name, outcome, reason }: Result, dryRun: boolean): string {
  const what = dryRun && outcome === "not added yet" ? "would be added" : outcome;
  return printableLine(`${name}: ${what}${reason === null ? "" : `, ${reason}`}`, 1_000);
}

function named(name: string, found: readonly DeclaredServer[]): DeclaredServer {
  const server = found.find((one) => one.name === name);
  if (server !== undefined) return server;
  throw new CliError("unknown_server", `the file has no server ${printableLine(name)}`, {
    hint: `it has: ${found.map((one) => printableLine(one.name)).join(", ") || "none"}`,
  });
}

function fileOf(client: McpClient, given: string | undefined, env: NodeJS.ProcessEnv): string {
  if (given !== undefined) return resolve(given);
  const place = { cwd: process.cwd(), home: homedir(), env };
  return CLIENT_FORMATS[client].file(place);
}

async function ownUrl(env: NodeJS.ProcessEnv): Promise<string> {
  const state = stateDirectory(env);
  const instance = await findRunningInstance(state.instanceFile);
  const http = instance === null ? null : await httpAccess(instance, state.keys);
  if (http !== null) return new URL("/mcp", http.url).href;
  throw new CliError("not_running", "Switchyard does not run here, so its address is not known", {
    hint: "start ./yard dev, or name the address with --url http://…/mcp",
  });
}

/** Writes the file beside itself and renames it, with the rights of the one before, which is kept byte for byte. */
async function replaced(file: string, text: string): Promise<string | null> {
  // A link leads to where the person keeps the file, and stays one.
  const target = await realpath(file).catch(() => file);
  const mode = (await stat(target).catch(() => null))?.mode ?? 0o600;
  await mkdir(dirname(target), { recursive: true });
  const backup = await keptCopy(target);
  const next = `${target}.${process.pid}.new`;
  await writeFile(next, text, { mode: mode & 0o777, flag: "wx" });
  await rename(next, target);
  return backup;
}

async function keptCopy(file: string): Promise<string | null> {
  for (let number = 1; ; number += 1) {
    const copy = `${file}.before-yard${number === 1 ? "" : `-${number}`}`;
    try {
      await copyFile(file, copy, constants.COPYFILE_EXCL);
      return copy;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return null;
      if (code !== "EEXIST") throw error;
    }
  }
}
