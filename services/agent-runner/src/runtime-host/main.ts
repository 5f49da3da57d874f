// The host of one run's CLI. It ends, and the CLI's whole process group with it, when its runner sends the command to end or is
// gone.
import { createInterface } from "node:readline";
import { hostRun } from "./host-run.ts";
import type { HostCommand, HostEvent } from "./host-protocol.ts";

const report = (event: HostEvent): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
process.stdout.on("error", () => {}); // the input ends, too
let run: ReturnType<typeof hostRun> | null = null;

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const)
  process.once(signal, () => void leave());

async function leave(): Promise<void> {
  await run?.end();
  process.exit(0);
}

for await (const line of createInterface({ input: process.stdin })) {
  // Our own runner wrote it, of the same version.
  const command = JSON.parse(line) as HostCommand;
  if (command.type === "start") run = hostRun(command, report);
  else if (command.type === "results") run?.take(command);
  else break;
}
await leave();
