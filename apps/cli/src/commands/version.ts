import { discoverServices } from "@switchyard/bus/discovery";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { fieldLines } from "../field-lines.ts";
import { printableLine } from "../printable.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { VERSION } from "../version.ts";

/** `yard version`: works without a bus, too. */
export async function version(terminal: Terminal, options: { json?: true }): Promise<void> {
  const found = await answering(terminal.env);
  const services = found.map(({ name, id, version: of }) => ({ name, id, version: of }));
  const own = { yard: VERSION, node: process.versions.node };
  if (options.json) return writeJson(terminal, { ...own, services });
  const lines = fieldLines([
    ["yard", own.yard],
    ["node", own.node],
    ...services.map((service): [string, string] => [
      printableLine(service.name),
      printableLine(service.version),
    ]),
  ]);
  for (const line of lines) terminal.out(line);
}

/** Without a running instance the list is empty: the command prints versions, so that is no failure. */
async function answering(env: NodeJS.ProcessEnv) {
  try {
    return await withBus(await findBus(env), (bus) => discoverServices(bus));
  } catch (error) {
    if (error instanceof CliError && error.code === "not_running") return [];
    throw error;
  }
}
